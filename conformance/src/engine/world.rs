//! What all connections of one played engine share: its memory, its models, and what it runs.

use std::io;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::cues::Cues;
use super::models::Models;
use super::options::Options;

/// The engine behind its port.
pub(super) struct World {
    pub(super) options: Options,
    pub(super) cues: Cues,
    pub(super) models: Models,
    asleep: Mutex<bool>,
    weights: Mutex<Vec<u8>>,
    running: watch::Sender<usize>,
}

impl World {
    pub(super) fn new(options: Options) -> io::Result<Self> {
        let cues = Cues::new(options.director.as_deref(), options.load)?;
        cues.tell(&format!("started {}", std::process::id()));
        Ok(Self {
            options,
            cues,
            models: Models::default(),
            asleep: Mutex::new(false),
            weights: Mutex::new(Vec::new()),
            running: watch::Sender::new(0),
        })
    }

    /// Says what happens.
    pub(super) fn tell(&self, what: &str) {
        self.cues.tell(what);
    }

    /// Takes the memory of the weights, every page of it.
    pub(super) fn fill(&self) {
        *self.weights.lock() = vec![1; self.options.weights_mb << 20];
    }

    /// Gives the memory back.
    pub(super) fn empty(&self) {
        *self.weights.lock() = Vec::new();
    }

    /// Gives the memory back until it is woken.
    pub(super) fn sleep(&self) {
        *self.asleep.lock() = true;
        self.empty();
        self.tell(&format!("slept under {}", self.running()));
    }

    /// Takes the memory again.
    pub(super) async fn wake(&self) {
        self.cues.step("wake").await;
        self.fill();
        *self.asleep.lock() = false;
        self.tell("woke");
    }

    /// Whether it sleeps.
    pub(super) fn is_asleep(&self) -> bool {
        *self.asleep.lock()
    }

    /// How many calls it has begun and not finished.
    pub(super) fn running(&self) -> usize {
        *self.running.borrow()
    }

    /// Counts one call as long as the result lives.
    pub(super) fn begin(&self) -> Begun<'_> {
        self.running.send_modify(|running| *running += 1);
        Begun(self)
    }

    /// Waits until nothing is running.
    pub(super) async fn idle(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        self.running.subscribe().wait_for(|running| *running == 0).await.ok();
    }
}

/// One call that has begun.
pub(super) struct Begun<'w>(&'w World);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}
