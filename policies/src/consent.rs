//! May this request leave at all?

/// The two people who can keep a request at home: the operator by the switch, the caller by `X-SIE-Remote: forbid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Both allow it.
    Given,
    /// The caller sent `X-SIE-Remote: forbid`.
    Forbidden,
    /// The operator switched remote serving off.
    SwitchedOff,
}

impl Consent {
    /// The caller's word counts first: a forbidden request is forbidden whatever the switch says.
    #[must_use]
    pub const fn of(remote_serving: bool, caller_forbids: bool) -> Self {
        match (caller_forbids, remote_serving) {
            (true, _) => Self::Forbidden,
            (false, false) => Self::SwitchedOff,
            (false, true) => Self::Given,
        }
    }
}
