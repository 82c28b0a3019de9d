//! What did a scripted side see: every request to the byte, the connection it came on, and who closed it?

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::head::{Head, latin1};
use super::patience::within;
use crate::expect::{During, Verdict, same};

/// One request as a scripted side read it.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The number of the connection, counted from 1.
    pub connection: usize,
    /// The head, to the byte.
    pub head: Head,
    /// The body without its framing, as far as it was read.
    pub body: Vec<u8>,
    /// Whether the body was read to its end.
    pub whole: bool,
}

impl Heard {
    /// The target without its query.
    pub fn path(&self) -> String {
        let target = self.head.target();
        target.split('?').next().unwrap_or_default().to_owned()
    }

    /// The body as JSON, `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The model the request names: in the path, in the JSON body, or in a form field.
    pub fn model(&self) -> Option<String> {
        let path = self.path();
        for prefix in ["/v1/encode/", "/v1/score/", "/v1/extract/", "/v1/generate/"] {
            if let Some(model) = path.split_once(prefix).map(|split| split.1) {
                return Some(model.replace("__", "/"));
            }
        }
        if let Some(model) = self.json()["model"].as_str() {
            return Some(model.to_owned());
        }
        let body = latin1(&self.body);
        let field = body.split_once("name=\"model\"\r\n\r\n")?.1;
        Some(field.split("\r\n").next().unwrap_or_default().to_owned())
    }
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The number of the connection.
    pub connection: usize,
    /// Whether the peer closed it, rather than the script.
    pub by_peer: bool,
}

/// Everything one scripted side saw so far.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Connections accepted.
    pub connections: usize,
    /// Requests, in the order in which they were complete.
    pub heard: Vec<Heard>,
    /// Bytes that never became a whole head.
    pub fragments: Vec<Vec<u8>>,
    /// Connections that have ended.
    pub endings: Vec<Ending>,
}

/// The growing record of one scripted side. Clones are the same journal.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    record: Arc<watch::Sender<Record>>,
}

impl Journal {
    pub(crate) fn note(&self, change: impl FnOnce(&mut Record)) {
        self.record.send_modify(change);
    }

    /// The record as it is now.
    pub fn record(&self) -> Record {
        self.record.borrow().clone()
    }

    /// Requests heard so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.record.borrow().heard.clone()
    }

    /// Requests that name this model.
    pub fn heard_of(&self, model: &str) -> Vec<Heard> {
        let names = |heard: &Heard| heard.model().as_deref() == Some(model);
        self.heard().into_iter().filter(names).collect()
    }

    /// Inference requests: everything that is not a GET or a HEAD.
    pub fn calls(&self) -> Vec<Heard> {
        let call = |heard: &Heard| !["GET", "HEAD"].contains(&heard.head.method().as_str());
        self.heard().into_iter().filter(call).collect()
    }

    /// Fails unless exactly `count` inference requests were heard.
    ///
    /// # Errors
    /// A finding with the request lines that were.
    pub fn expect_calls(&self, who: &str, count: usize) -> Verdict {
        let calls = self.calls();
        let lines: Vec<String> = calls.iter().map(|heard| heard.head.start()).collect();
        same(&format!("calls that the {who} heard"), &lines.len(), &count).during(&format!("{lines:?}"))
    }

    /// Waits until the record satisfies `condition`.
    ///
    /// # Errors
    /// A finding with `what` when it does not come.
    pub async fn until(&self, what: &str, condition: impl FnMut(&Record) -> bool) -> Verdict<Record> {
        let mut record = self.record.subscribe();
        let seen = within(what, record.wait_for(condition)).await?;
        // The sender lives as long as `self`, so the wait cannot fail; the record now is the fallback all the same.
        Ok(seen.map_or_else(|_| self.record(), |record| record.clone()))
    }

    /// Waits until the peer has closed this connection.
    ///
    /// # Errors
    /// A finding when it stays open.
    pub async fn closed_by_peer(&self, connection: usize) -> Verdict {
        let ending = Ending { connection, by_peer: true };
        self.until("the peer to close a connection", |record| record.endings.contains(&ending)).await?;
        Ok(())
    }
}
