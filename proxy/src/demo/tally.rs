//! What do all calls of the demo come to?

use super::journal::Said;
use super::outcome::{Ending, Outcome};

/// What was seen in all calls together.
#[derive(Default)]
pub(super) struct Tally {
    calls: usize,
    local: usize,
    remote: usize,
    kept: usize,
    restored: usize,
    /// Errors that the script did not ask for.
    surprises: usize,
    engine_first: usize,
    upstream_asked: usize,
    engine_keys: usize,
    upstream_keys: usize,
}

impl Tally {
    /// Counts one exchange; `expected` says whether it ended as the script wants it.
    pub(super) fn count(&mut self, outcome: &Outcome, expected: bool) {
        self.calls += 1;
        match outcome.ending() {
            Ending::Local => self.local += 1,
            Ending::Kept => self.kept += 1,
            Ending::Odd => {}
            Ending::Remote => self.remote += 1,
            Ending::Restored => self.restored += 1,
        }
        self.surprises += usize::from(!expected && outcome.seen.status >= 400);
        self.engine_first += usize::from(outcome.engine_first);
        self.upstream_asked += usize::from(outcome.upstream.is_some());
        let had_key = |said: &Option<Said>| usize::from(said.as_ref().is_some_and(|said| said.had_key));
        self.engine_keys += had_key(&outcome.engine);
        self.upstream_keys += had_key(&outcome.upstream);
    }

    /// Counts a call that got no answer.
    pub(super) const fn count_broken(&mut self) {
        self.calls += 1;
        self.surprises += 1;
    }

    pub(super) const fn has_surprises(&self) -> bool {
        self.surprises > 0
    }

    /// Who answered.
    pub(super) fn answers(&self) -> String {
        let Self { calls, local, remote, kept, restored, surprises, .. } = self;
        format!(
            "\n{calls} calls, one URL, one model name: {remote} answered by the upstream, {local} by the local engine, {} by the\n\
             engine's own refusal ({kept} kept, {restored} restored). Unwanted errors: {surprises}.",
            kept + restored
        )
    }

    /// Who was asked, and what reached whom.
    pub(super) fn order(&self) -> String {
        let Self { calls, engine_first, upstream_asked, engine_keys, upstream_keys, .. } = self;
        format!(
            "The engine was asked first in {engine_first} of {calls}, the upstream was asked in {upstream_asked}. The caller's key \
             reached the\nengine {engine_keys} times and the upstream {upstream_keys} times."
        )
    }
}
