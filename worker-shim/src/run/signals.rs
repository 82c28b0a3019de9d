//! Which signals does the shim take, for itself and for its engine?

use nix::sys::signal::Signal;
use std::fs;
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
    /// Takes them from now on, inside a tokio runtime. Under `nohup` SIGHUP stays ignored, and so it does in the engine.
    pub(super) fn new() -> io::Result<Self> {
        let hears_hangups = !fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangups(&status));
        let taken = TAKEN.into_iter().filter(|signal| *signal != Signal::SIGHUP || hears_hangups);
        let taken = taken.map(|signal| Ok((signal, unix::signal(SignalKind::from_raw(signal as i32))?)));
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

/// Whether a process with this status was told to ignore SIGHUP. To ask the system itself takes unsafe code.
fn ignores_hangups(status: &str) -> bool {
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (Signal::SIGHUP as i32 - 1) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_status() {
        let status = |ignored: &str| {
            format!("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t{ignored}\nSigCgt:\tffffffffffffffff\n")
        };
        assert!(ignores_hangups(&status("0000000000001001")));
        assert!(!ignores_hangups(&status("0000000000001000")) && !ignores_hangups(""));
    }
}
