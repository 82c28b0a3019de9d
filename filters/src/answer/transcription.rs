//! Is this a well-formed transcription?

use super::members::Members;
use crate::upstream_status::loose::Text;

/// Audio as JSON: `text`.
pub(super) fn transcription(members: &Members<'_>) -> Option<()> {
    members.read_member::<Text<'_>>("text").map(drop)
}
