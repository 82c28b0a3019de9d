//! Which targets, hosts and connection options are unambiguous?

pub(super) mod connection;
pub(super) mod host;
pub(super) mod target;
