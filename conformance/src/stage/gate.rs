//! How does a test hold a script at a step, learn that it stands there, and let it go on?

use std::sync::Arc;

use tokio::sync::watch;

use super::patience::within;
use crate::expect::Verdict;

#[derive(Clone, Copy, Debug, Default)]
struct State {
    arrived: usize,
    open: bool,
}

/// A gate in a script. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    state: Arc<watch::Sender<State>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(State::default())) }
    }

    /// Lets everyone through, now and later.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Whether the gate is open.
    pub fn is_open(&self) -> bool {
        self.state.borrow().open
    }

    /// Waits until a script stands at the gate or has passed it.
    pub async fn reached(&self) -> Verdict {
        let mut state = self.state.subscribe();
        within("a script to reach its gate", state.wait_for(|state| state.arrived > 0)).await?.ok();
        Ok(())
    }

    /// The script's half: says that it is here, then waits for `open`.
    pub(crate) async fn pass(&self) {
        self.state.send_modify(|state| state.arrived += 1);
        let mut state = self.state.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        state.wait_for(|state| state.open).await.ok();
    }
}
