//! Is this answer of the local engine a refusal, and which one?
//!
//! Engines say "not now" in many shapes, so recognisers are tables: a preset's [`Rule`]s, with the operator's asked first. The first
//! rule that matches decides. What no rule names is no refusal (engines 2.0: 500, 504 and a 503 without a known code stay as they are).

mod evidence;
mod veiled;

pub use veiled::{Veiled, veiled};

use crate::call::Work;
use crate::presets::{Origin, Preset};
use evidence::Evidence;
use spillway_policies::refusal::Certainty;
use spillway_policies::{Refusal, Trigger};
use std::borrow::Cow;

/// Largest body that JSON rules look at; a larger one is no refusal of any engine known (all are under 2 KiB).
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// How much of a body text rules look at.
pub const MAX_TEXT_BYTES: usize = 4 * 1024;

/// Where in an answer a rule looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The answer's status, head and body.
    Head,
    /// The first events of a 200 stream, or the whole body of a 200, before any content (engines 0 item 2).
    Prime,
}

/// What a rule claims of the work. Whoever writes a rule claims the least that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The engine may have done some of it.
    Ambiguous,
    /// It did nothing of this request of its own. A call that it makes several requests of may have been refused at a later one.
    CertainOfOnePiece,
    /// It certainly did nothing of the call.
    Certain,
}

impl Claim {
    fn of(self, answer: &Answer<'_>) -> Certainty {
        match self {
            Self::Certain => Certainty::Certain,
            Self::CertainOfOnePiece if answer.work.is_some_and(|work| work.is_one_piece()) => Certainty::Certain,
            Self::CertainOfOnePiece | Self::Ambiguous => Certainty::Ambiguous,
        }
    }
}

/// One recogniser. Every condition that is set must hold; a condition that is empty holds always (product section 3, `[[engine.refusal]]`).
///
/// In a header or JSON condition the value `*` means any value at all. In a JSON condition a value that ends in `*` is how a text begins,
/// and the empty value means that the place is absent, null or empty. What an engine says belongs into a JSON condition where it can:
/// a text is also found in what a model wrote and an error quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Where it looks.
    pub phase: Phase,
    /// The statuses it is for. Empty: in the head phase every status but a 2xx, in the prime phase every status.
    pub status: Cow<'static, [u16]>,
    /// Headers and their values, both without regard to case.
    pub header: Cow<'static, [(Cow<'static, str>, Cow<'static, str>)]>,
    /// JSON pointers (RFC 6901) and their values, without regard to case; numbers and booleans match their text.
    pub json: Cow<'static, [(Cow<'static, str>, Cow<'static, str>)]>,
    /// As `json`, but one of them is enough.
    pub any_json: Cow<'static, [(Cow<'static, str>, Cow<'static, str>)]>,
    /// Texts that all stand in the first 4 KiB of the body, without regard to case, whatever the content type.
    pub text: Cow<'static, [Cow<'static, str>]>,
    /// The media type, without parameters and without regard to case.
    pub content_type: Option<Cow<'static, str>>,
    /// What it means; none: this answer is no refusal, whatever later rules say.
    pub trigger: Option<Trigger>,
    /// Whether the engine certainly did no work.
    pub certainty: Claim,
    /// How this is known.
    pub origin: Origin,
}

impl Rule {
    /// A head rule without conditions that names no trigger; tables start from it.
    pub const HEAD: Self = Self {
        phase: Phase::Head,
        status: Cow::Borrowed(&[]),
        header: Cow::Borrowed(&[]),
        json: Cow::Borrowed(&[]),
        any_json: Cow::Borrowed(&[]),
        text: Cow::Borrowed(&[]),
        content_type: None,
        trigger: None,
        certainty: Claim::Certain,
        origin: Origin::inferred("not said"),
    };

    /// A prime rule without conditions that names no trigger.
    pub const PRIME: Self = Self { phase: Phase::Prime, ..Self::HEAD };

    fn is_for(&self, phase: Phase, status: u16) -> bool {
        self.phase == phase
            && (self.status.contains(&status)
                || self.status.is_empty() && (phase == Phase::Prime || !(200..300).contains(&status)))
    }
}

/// An answer of the engine as far as it was read.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Which rules apply.
    pub phase: Phase,
    /// Its status.
    pub status: u16,
    /// Its header lines, ended by CRLF; the status line may stand first.
    pub head: &'a [u8],
    /// Its body or, in the prime phase, the data of one event.
    pub body: &'a [u8],
    /// The engine says that it asked somebody else (`X-SIE-Served-By: remote`): that one may have done the work, so it is no refusal.
    pub served_remotely: bool,
    /// What was asked for; none: not known, and then it may be more than one piece.
    pub work: Option<Work<'a>>,
}

/// Whether an answer with this status can be a refusal at all. Cheap: ask it before anything else of the answer is read.
#[must_use]
pub fn may_refuse(preset: &Preset, operator: &[Rule], status: u16) -> bool {
    rules(preset, operator).any(|rule| rule.trigger.is_some() && rule.is_for(Phase::Head, status))
}

/// Whether refusals can hide inside a 200, so that the engine's answer to a hybrid model must be primed (product section 4 item 4).
#[must_use]
pub fn may_hide(preset: &Preset, operator: &[Rule]) -> bool {
    rules(preset, operator).any(|rule| rule.trigger.is_some() && rule.phase == Phase::Prime)
}

/// What an answer, or one event of a 200 stream before any content, means; none: it is no refusal. The operator's rules are asked first.
#[must_use]
pub fn recognise(preset: &Preset, operator: &[Rule], answer: &Answer<'_>) -> Option<Refusal> {
    if answer.served_remotely {
        return None;
    }
    let evidence = Evidence::new(answer);
    let rule = rules(preset, operator)
        .filter(|rule| rule.is_for(answer.phase, answer.status))
        .find(|rule| evidence.satisfies(rule))?;
    rule.trigger.map(|trigger| Refusal { trigger, certainty: rule.certainty.of(answer) })
}

fn rules<'a>(preset: &'a Preset, operator: &'a [Rule]) -> impl Iterator<Item = &'a Rule> {
    operator.iter().chain(preset.rules)
}
