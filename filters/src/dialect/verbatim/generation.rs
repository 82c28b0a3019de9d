//! How does a generation call go to an upstream that has its surface? With the upstream's name for the model, usage asked for, the
//! output capped, and without what is SIE's own where the host is not a SIE (contract section 6).

use crate::answer::{Expected, MAX_CHOICES};
use crate::dialect::finished::Finishing;
use crate::dialect::host::Reader;
use crate::dialect::{self, Asked, Caller, NOT_REPLAYABLE, Reading, UNTRANSLATABLE, Whole, host};
use crate::edit::{self, Outgoing, Piece};
use spillway_policies::upstream::Params;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};

pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>, is_openai: bool) -> Result<Asked, Failure> {
    let (surface, stream) = (caller.surface, caller.details.stream);
    let is_countable = caller.details.choices.is_none_or(|choices| choices <= MAX_CHOICES)
        && (surface != Surface::Completions || caller.details.choices.is_some());
    if !is_countable {
        // An answer with more is not read, and one to nobody knows how many prompts cannot be known to be whole.
        return Err(UNTRANSLATABLE);
    }
    let call = Outgoing::read(caller.body).map_err(|_| NOT_REPLAYABLE)?;
    let finishing = Finishing::of(&call, &caller, plan, surface)?;
    let declares = |name| call.value(name).is_some_and(|tools: &[u8]| tools.contains(&b'{'));
    let no_tools = !declares("tools") && !declares("functions");
    let body = body(call, &caller, plan, is_openai)?;
    let prompts = caller.details.prompts.and_then(|prompts| u32::try_from(prompts).ok()).unwrap_or(1);
    let mut expected = Expected { no_tools, ..dialect::expected(caller, plan) };
    // Usage is that of all prompts, each with a context of its own.
    expected.context = expected.context.map(|context| context.saturating_mul(prompts));
    let reading = if stream {
        finishing.stream(surface, surface, &expected)
    } else {
        let back = dialect::Back::Generated(Reader { surface, expected, finishing });
        Reading::Whole(Box::new(Whole { most_bytes: host::MOST_TEXT_BYTES, back }))
    };
    Ok(host::asked(plan, surface, body, reading))
}

/// The outgoing body.
fn body(
    mut outgoing: Outgoing<'_>,
    caller: &Caller<'_>,
    plan: &Plan<'_>,
    is_openai: bool,
) -> Result<Vec<Piece>, Failure> {
    if is_openai {
        return Ok(openai(caller, plan, outgoing));
    }
    if caller.surface != Surface::Generate {
        outgoing.put_text("model", plan.remote.model.as_str());
        if caller.surface != Surface::Responses {
            host::put_stream(&mut outgoing, caller.details.stream);
        }
        if caller.surface == Surface::Chat {
            // What the answer is held to, the upstream is told.
            outgoing.cap(host::output_cap(caller, plan), &Params::default(), true);
        }
    } else if caller.details.profile.is_none() {
        return Ok(vec![Piece::Held(0..caller.body.len())]);
    }
    edit::drop_profile(&mut outgoing).ok_or(NOT_REPLAYABLE)?;
    Ok(outgoing.into_pieces())
}

fn openai(caller: &Caller<'_>, plan: &Plan<'_>, mut outgoing: Outgoing<'_>) -> Vec<Piece> {
    outgoing.retain(|name| !matches!(name, "include_reasoning" | "options" | "schema_in_prompt"));
    if caller.surface == Surface::Chat && outgoing.value("max_completion_tokens").is_some() {
        // Some hosts take only one of the two; the newer one is the one that counts.
        outgoing.retain(|name| name != "max_tokens");
    }
    host::body(outgoing, caller, plan, caller.surface)
}
