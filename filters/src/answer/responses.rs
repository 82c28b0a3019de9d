//! Is this a well-formed answer of responses?

use super::Fields;
use super::members::Members;
use super::numbers::Objects;
use super::usage::Responded;
use crate::upstream_status::loose::Text;

/// Responses: `output`, no failed status, and exact usage when there is any.
pub(super) fn responses(members: &Members<'_>) -> Option<()> {
    members.read_member::<Objects>("output")?;
    if members.raw("status").is_some() {
        let status: Option<Text<'_>> = members.read_member("status")?;
        status.is_none_or(|status| matches!(status.0.as_ref(), "completed" | "incomplete")).then_some(())?;
    }
    if members.raw("usage").is_none() {
        return Some(());
    }
    members.read_member::<Option<Fields<Responded>>>("usage")?.is_none_or(|usage| usage.0.is_sound()).then_some(())
}
