//! Which keys does this version check without acting on them? Those that are harmless to leave out warn; the others are refused.

use crate::config::table::Place;

/// The key is right, and nothing reads it yet; `meanwhile` says what happens instead.
pub(super) fn unread(place: &Place<'_>, meanwhile: &str) {
    place.warn("is checked, and not acted on in this version", meanwhile);
}

/// Leaving the key out silently would do something else than the operator wants.
pub(super) fn refused(place: &Place<'_>, instead: &str) {
    place.wrong("is not in this version", instead);
}
