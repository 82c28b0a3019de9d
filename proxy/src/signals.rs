//! What does a signal ask of the process: to end, to hand over, or nothing?

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// SIGTERM or SIGINT: drain and end. Asked again, at once. A process that has handed over is draining: the first only ends its wait for
    /// callers who are idle.
    End,
    /// SIGQUIT: hand the listening sockets to the process that waits for them, then drain and end.
    HandOver,
}

/// The signals that this process hears.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
}

impl Signals {
    /// Listens from here on. What a terminal that goes away or a tool for other servers sends ends nothing: its default would be death.
    /// SIGPIPE is ignored by the runtime of the language.
    ///
    /// # Errors
    /// What the system says.
    pub fn listen() -> io::Result<Self> {
        for ignored in [SignalKind::hangup(), SignalKind::user_defined1(), SignalKind::user_defined2()] {
            // A handler stays for the life of the process, listened to or not.
            drop(signal(ignored)?);
        }
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// The next thing that is asked.
    pub async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::End,
            _ = self.interrupt.recv() => Asked::End,
            _ = self.quit.recv() => Asked::HandOver,
        }
    }

    /// Waits until the process is asked to end.
    pub async fn end(&mut self) {
        while self.next().await != Asked::End {}
    }
}
