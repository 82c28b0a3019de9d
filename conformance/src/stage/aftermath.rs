//! What does every fault leave behind: one access line for each exchange, no secret anywhere, nothing in flight?

use super::Stage;
use super::client::{Received, Request};
use super::head::latin1;
use super::sample::{self, Surface};
use super::setup::{HOSTED_KEY, TEAM_KEY};
use crate::expect::{During, Verdict, lacks, same};

/// What a secretive caller's `Authorization` says.
const CALLER_KEY: &str = "caller-key-2b6e";
/// What a secretive caller asks the model.
const PROMPT: &str = "prompt-words-9e41";

/// A valid request for the model, with a credential and a prompt that nobody may write down.
pub fn secretive(surface: Surface, model: &str) -> Request {
    sample::request(surface, model)
        .with_text("\"hi\"", &format!("\"{PROMPT}\""))
        .field("Authorization", &format!("Bearer {CALLER_KEY}"))
}

/// Ends the sidecar as an orchestrator does and looks at what is left: it ends at once and well, because no exchange and no permit is
/// still out, it has written one access line for each of `exchanges`, and every secret stayed where it belongs.
pub async fn clean(mut stage: Stage, exchanges: usize) -> Verdict {
    stage.sidecar.terminate()?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    let said = stage.sidecar.stderr();
    lacks("stderr", &said, "exchanges are cut")?;
    lines(&stage, exchanges)?;
    secrets(&stage)
}

/// Fails unless the sidecar has written one access line for each of `exchanges`.
pub(crate) fn lines(stage: &Stage, exchanges: usize) -> Verdict {
    let lines = stage.sidecar.access_lines();
    same("access lines", &lines.len(), &exchanges).during(&format!("{lines:?}"))
}

/// Fails if a key of the sidecar stands in an answer.
pub(crate) fn keeps_keys(answer: &Received) -> Verdict {
    let seen = latin1(answer.head.raw()) + &latin1(&answer.body);
    [HOSTED_KEY, TEAM_KEY].into_iter().try_for_each(|key| lacks("an answer", &seen, key))
}

/// Fails if a secret stands where it does not belong.
pub(crate) fn secrets(stage: &Stage) -> Verdict {
    let said = stage.sidecar.stderr();
    for secret in [HOSTED_KEY, TEAM_KEY, CALLER_KEY, PROMPT] {
        lacks("stderr", &said, secret)?;
    }
    for heard in stage.upstream.journal().heard() {
        lacks("an upstream request", &latin1(heard.head.raw()), CALLER_KEY)?;
    }
    for heard in stage.engine.journal().heard() {
        let request = latin1(heard.head.raw()) + &latin1(&heard.body);
        for key in [HOSTED_KEY, TEAM_KEY] {
            lacks("an engine request", &request, key)?;
        }
    }
    Ok(())
}
