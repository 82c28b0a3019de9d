//! How is a stream of generate written? (contract section 1.4)

use super::json::{self, Object};
use super::logprobs;
use crate::answer::Generated;
use crate::event_stream::write_event;
use crate::stream_error::Position;
use serde_json::value::RawValue;

/// Numbers the events of one stream and writes them under one id.
pub(super) struct Events {
    request_id: String,
    next_seq: u64,
}

/// Log-probabilities on their way into an event.
#[derive(Clone, Copy)]
pub(super) enum Logprobs<'a> {
    None,
    /// Of generate itself.
    Native(&'a RawValue),
    /// Of completions.
    Openai(&'a RawValue),
}

/// How a stream ended.
pub(super) struct End<'a> {
    pub(super) reason: &'a str,
    pub(super) usage: Option<Generated>,
    /// Times that the upstream took, as it wrote them.
    pub(super) times: &'a [(&'static str, &'a RawValue)],
}

impl Events {
    pub(super) const fn new(request_id: String) -> Self {
        Self { request_id, next_seq: 0 }
    }

    /// Takes the upstream's id where we have none of our own.
    pub(super) fn adopt(&mut self, request_id: &str) {
        if self.request_id.is_empty() && request_id.len() <= MAX_ID_BYTES {
            request_id.clone_into(&mut self.request_id);
        }
    }

    pub(super) fn position(&self) -> Position<'_> {
        Position { request_id: Some(self.request_id.as_str()).filter(|id| !id.is_empty()), next_seq: self.next_seq }
    }

    /// Appends one event; the last has an end. None when the log-probabilities are not valid.
    pub(super) fn write(
        &mut self,
        text: &str,
        logprobs: Logprobs<'_>,
        end: Option<End<'_>>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        out.extend_from_slice(b"data: ");
        let mut event = Object::open(out);
        json::text(&self.request_id, event.name("request_id"));
        json::number(self.next_seq, event.name("seq"));
        json::text(text, event.name("text_delta"));
        event.name("done").extend_from_slice(if end.is_some() { b"true" } else { b"false" });
        match logprobs {
            Logprobs::None => {}
            Logprobs::Native(raw) => logprobs::write_native(raw, event.name("logprobs"))?,
            Logprobs::Openai(raw) => logprobs::write(raw, logprobs::Form::Native, event.name("logprobs"))?,
        }
        if let Some(end) = end {
            json::text(end.reason, event.name("finish_reason"));
            if let Some(usage) = end.usage {
                event.name("usage").extend_from_slice(&usage.to_json());
            }
            for (name, time) in end.times {
                json::raw(time, event.name(name));
            }
        }
        event.close();
        out.extend_from_slice(b"\n\n");
        self.next_seq += 1;
        Some(())
    }
}

/// Longest request id that is taken over.
const MAX_ID_BYTES: usize = 256;

/// Appends what ends every stream of chat, completions and generate.
pub(super) fn write_done(out: &mut Vec<u8>) {
    write_event(b"[DONE]", out);
}
