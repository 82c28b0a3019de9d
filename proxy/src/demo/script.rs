//! Which calls does the demo make, when, and how should they end?

use super::caller::Ask;
use super::engine::FIRST_LOAD;
use super::outcome::Ending;
use std::time::Duration;

/// One call of the script.
pub(super) struct Step {
    /// When, counted from the start of the load.
    pub(super) at: Duration,
    pub(super) label: &'static str,
    pub(super) ask: Ask,
    pub(super) upstream_down: bool,
    pub(super) expected: Ending,
}

const PLAIN: Ask = Ask { stream: false, forbid: false };

pub(super) const WHILE_COLD: [Step; 4] = [
    Step { at: Duration::from_millis(400), label: "chat", ask: PLAIN, upstream_down: false, expected: Ending::Remote },
    Step {
        at: Duration::from_millis(1200),
        label: "stream",
        ask: Ask { stream: true, forbid: false },
        upstream_down: false,
        expected: Ending::Remote,
    },
    Step {
        at: Duration::from_millis(2600),
        label: "forbid",
        ask: Ask { stream: false, forbid: true },
        upstream_down: false,
        expected: Ending::Kept,
    },
    Step {
        at: Duration::from_millis(3600),
        label: "upstream down",
        ask: PLAIN,
        upstream_down: true,
        expected: Ending::Restored,
    },
];

pub(super) const ONCE_WARM: Step =
    Step { at: FIRST_LOAD, label: "chat", ask: PLAIN, upstream_down: false, expected: Ending::Local };
