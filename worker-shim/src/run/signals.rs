//! Which signals does the shim take, for itself and for its engine?

use nix::sys::signal::Signal;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use tokio::signal::unix::{self, SignalKind};

/// What operators and terminals send. SIGCHLD is the reaper's, SIGPIPE is ignored, and the rest does to the shim what it does to anybody.
const TAKEN: [Signal; 7] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
];

/// The signals that come.
pub(super) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Takes them from now on, inside a tokio runtime.
    pub(super) fn new() -> io::Result<Self> {
        let taken = TAKEN.into_iter().map(|signal| Ok((signal, unix::signal(SignalKind::from_raw(signal as i32))?)));
        taken.collect::<io::Result<_>>().map(Self)
    }

    /// The next one. Cancel-safe.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let came = |(signal, stream): &mut (Signal, unix::Signal)| stream.poll_recv(context).map(|_| *signal);
            self.0.iter_mut().map(came).find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }
}
