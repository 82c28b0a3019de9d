//! One connection to a played engine: requests in, answers out, in order.

use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::net::TcpStream;

use super::answer::{Answered, Part};
use super::options::Like;
use super::world::World;
use super::{llama_swap, ollama, tei, vllm};
use crate::stage::pipe::{Framing, Pipe, Stream};

/// One request as an engine sees it.
pub(super) struct Asked {
    pub(super) method: String,
    /// The target without its query.
    pub(super) path: String,
    /// The body as JSON, `null` when it is none.
    pub(super) body: Value,
}

/// Serves a connection until the peer leaves.
pub(super) async fn converse(world: Arc<World>, stream: TcpStream) {
    let mut pipe = Pipe::new(Stream::Tcp(stream));
    while let Ok(Some(asked)) = next(&mut pipe).await {
        // Counted from here, so that a sleep or an end under a call is seen.
        let _begun = (asked.method == "POST" && asked.path.starts_with("/v1/")).then(|| world.begin());
        let answered = answer(&world, &asked).await;
        if write(&world, &mut pipe, answered).await.is_err() {
            return;
        }
    }
}

async fn next(pipe: &mut Pipe) -> io::Result<Option<Asked>> {
    let Some(head) = pipe.head().await? else { return Ok(None) };
    let framing = head.request_framing();
    let mut left = if let Framing::Length(length) = framing { length } else { 0 };
    let mut body = Vec::new();
    while let Some(part) = pipe.part(framing, &mut left).await? {
        body.extend_from_slice(&part);
    }
    let path = head.target().split('?').next().unwrap_or_default().to_owned();
    Ok(Some(Asked { method: head.method(), path, body: serde_json::from_slice(&body).unwrap_or(Value::Null) }))
}

async fn answer(world: &World, asked: &Asked) -> Answered {
    match world.options.like {
        Like::Vllm => vllm::answer(world, asked).await,
        Like::Tei => tei::answer(world, asked),
        Like::Ollama => ollama::answer(world, asked).await,
        Like::LlamaSwap | Like::Crashing => llama_swap::answer(world, asked).await,
    }
}

async fn write(world: &World, pipe: &mut Pipe, answered: Answered) -> io::Result<()> {
    for part in answered {
        match part {
            Part::Bytes(bytes) => pipe.send(&bytes).await?,
            Part::Step(name) => world.cues.step(name).await,
        }
    }
    Ok(())
}
