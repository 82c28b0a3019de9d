//! What can somebody ask of the shim over its socket, and what is the answer?

use spillway_filters::feed::{Activity, Wish};
use tokio::sync::oneshot;

/// One thing that came in over the socket. The server sends it to the loop that owns the state.
#[derive(Debug)]
pub enum Asked {
    /// POST /load.
    Load(Wish, oneshot::Sender<Reply>),
    /// POST /sleep.
    Sleep(Wish, oneshot::Sender<Reply>),
    /// POST /activity.
    Activity(Activity),
    /// A subscriber has come: its stream is open.
    Subscribed(String),
    /// A subscriber's stream has ended.
    Left(String),
}

/// The answer to a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// 200: it is so already.
    Done,
    /// 202: it is on its way; the stream tells the rest.
    Begun,
    /// Not now or not at all.
    Refused(Refused),
}

/// Why a wish is not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// One sentence for a person, which says how to mend it.
    pub message: &'static str,
    /// Seconds to wait before it is worth another try.
    pub retry_after_s: Option<u64>,
}
