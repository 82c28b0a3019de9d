//! What does the shim say about the engine? One task subscribes to it; a request only looks at the newest snapshot.
//!
//! A feed that is lost or silent says nothing: then the engine is tried, as without a shim (product section 4 item 4).

mod follow;
mod report;

use crate::config::Address;
use crate::control::{self, Question};
use crate::house::House;
use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use pingora_core::upstreams::peer::HttpPeer;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::feed::{self, Condition, Snapshot, State, Wish};
use spillway_filters::foresight::{self, Foreseen};
use spillway_policies::{Surface, Trigger};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use follow::follow;
pub(crate) use report::farewell;
use report::report;

/// The shim beside the engine.
pub(crate) struct Shim {
    address: Address,
    /// How this process calls itself: two may subscribe while one takes over from the other.
    name: String,
    /// The newest snapshot and when it came; none: nothing is known.
    known: ArcSwapOption<Known>,
    changed: Notify,
    /// Its word came, or did not: see `first_word`.
    asked: Notify,
    /// What the log was told last, and when.
    said: Mutex<Said>,
    /// The log was told that the engine does not listen where it is to be.
    is_elsewhere: AtomicBool,
    /// The log was told that the shim's preset is another.
    is_foreign: AtomicBool,
    /// The preset of our configuration: the shim's should be the same.
    preset: &'static str,
}

/// A snapshot, and when it was true.
struct Known {
    snapshot: Snapshot,
    at: Instant,
    /// Nothing can be foreseen from it.
    is_plain: bool,
}

impl Known {
    fn now(snapshot: Snapshot) -> Self {
        let is_leaving = |condition: &Condition| condition.state == State::Draining;
        let is_plain =
            snapshot.engine.state == State::Ready && !snapshot.gates && !snapshot.models.values().any(is_leaving);
        Self { snapshot, at: Instant::now(), is_plain }
    }
}

/// What the log was told; none: that nothing is known.
#[derive(Default)]
struct Said {
    state: Option<State>,
    at: Option<Instant>,
}

impl Shim {
    pub(crate) fn new(address: Address, preset: &'static str) -> Self {
        // In containers every process has the same number: the rest tells them apart.
        let name = format!("spillway-{}-{:x}", std::process::id(), RandomState::new().build_hasher().finish());
        Self {
            address,
            name,
            known: ArcSwapOption::empty(),
            changed: Notify::new(),
            asked: Notify::new(),
            said: Mutex::default(),
            is_elsewhere: AtomicBool::new(false),
            is_foreign: AtomicBool::new(false),
            preset,
        }
    }

    /// What the engine would say; none: it is asked.
    pub(crate) fn foresee(&self, model: Option<&str>) -> Option<Foreseen> {
        let known = self.known.load();
        let known = known.as_ref()?;
        if known.is_plain {
            return None;
        }
        let elapsed_ms = u64::try_from(known.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        foresight::foresee(&known.snapshot, model, elapsed_ms)
    }

    /// What a call gets that can only go to the engine: inference when the engine certainly is not there, anything else when it was promised
    /// to be left alone. `only_reads`: it does not wake the engine.
    pub(crate) fn foresee_unbridged(&self, surface: Option<Surface>, only_reads: bool) -> Option<Foreseen> {
        if surface.is_none() && !self.is_left_alone() {
            return None;
        }
        let seen = self.foresee(None).filter(|seen| !seen.only_if_bridged)?;
        let sleeps_on = only_reads && seen.trigger == Trigger::ModelLoading;
        Some(if sleeps_on { Foreseen { answer: ErrorAnswer::asleep(), ..seen } } else { seen })
    }

    /// Whether the engine sleeps or is on its way down.
    fn is_left_alone(&self) -> bool {
        let known = self.known.load();
        known.as_ref().is_some_and(|known| matches!(known.snapshot.engine.state, State::Asleep | State::Draining))
    }

    /// Whether anything is known.
    pub(crate) fn is_live(&self) -> bool {
        self.known.load().is_some()
    }

    /// Whether the engine or the model comes only if somebody asks for it.
    pub(crate) fn needs_a_wish(&self, model: Option<&str>) -> bool {
        self.known.load().as_ref().is_some_and(|known| foresight::needs_a_wish(&known.snapshot, model))
    }

    /// Asks for a model, or for the engine; whether it is loaded or on its way. None: there was no answer.
    pub(crate) async fn load(&self, model: Option<&str>) -> Option<bool> {
        let wish = Wish { model: model.map(str::to_owned) };
        let body = serde_json::to_string(&wish).expect("a name always renders as JSON");
        self.ask(feed::paths::LOAD, body).await.map(|status| status < 300)
    }

    async fn ask(&self, path: &'static str, body: String) -> Option<u16> {
        let question = Question { method: "POST", path, body, host: &self.address };
        control::ask(&self.peers()?, question).await.map(|(status, _)| status)
    }

    fn peers(&self) -> Option<[HttpPeer; 1]> {
        Some([match &self.address {
            Address::Unix(path) => HttpPeer::new_uds(&path.to_string_lossy(), false, String::new()).ok()?,
            Address::Tcp(address) => HttpPeer::new(address.as_str(), false, String::new()),
        }])
    }

    /// The engine refused a connection. Told once, where it can only be a mistake: it never took one, and the shim has it ready.
    pub(crate) fn note_refused(&self, engine: &Address) {
        let is_ready = self.known.load().as_ref().is_some_and(|known| known.snapshot.engine.state == State::Ready);
        if is_ready && !self.is_elsewhere.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                base_url = %engine,
                "the shim says that the engine is ready, and nobody listens at base_url: base_url and the shim's --engine must \
                 name the same engine"
            );
        }
    }

    fn learned(&self, snapshot: Snapshot) {
        if snapshot.preset != self.preset && !self.is_foreign.swap(true, Ordering::Relaxed) {
            let (ours, shim) = (self.preset, &snapshot.preset);
            tracing::warn!(ours, shim, "the shim watches another kind of engine: give both the same preset");
        }
        self.known.store(Some(Arc::new(Known::now(snapshot))));
        self.say();
        self.changed.notify_one();
        self.asked.notify_one();
    }

    fn lost(&self) {
        self.known.store(None);
        self.say();
        // Who follows again is told anew what is in flight.
        self.changed.notify_one();
        self.asked.notify_one();
    }

    /// Tells the log of another state: once a second at most, whatever the shim does. What comes between is told when the second is over.
    fn say(&self) {
        let state = self.known.load().as_ref().map(|known| known.snapshot.engine.state);
        let now = Instant::now();
        let mut said = self.said.lock();
        if state == said.state || said.at.is_some_and(|at| now.duration_since(at) < Duration::from_secs(1)) {
            return;
        }
        *said = Said { state, at: Some(now) };
        match state {
            Some(state) => tracing::info!(state = state.token(), "the engine's state, as the shim tells it"),
            None => {
                tracing::warn!(shim = %self.address, "the engine's state is not known any more: the engine is tried each time");
            }
        }
    }
}

/// How long callers who are early wait for the shim's first word; a shim that is not there is known at once.
const FIRST_WORD: Duration = Duration::from_secs(5);

/// Waits until the shim, when there is one, has been asked once. A call before that would be sent to an engine that may be asleep.
pub(crate) async fn first_word(house: Arc<House>) {
    if let Some(shim) = &house.shim {
        // Late: the engine is tried, as with any shim that says nothing.
        tokio::time::timeout(FIRST_WORD, shim.asked.notified()).await.ok();
    }
}

/// The tasks that keep the shim's word fresh, when there is one; the one that tells it what is in flight.
pub(crate) fn start(house: &Arc<House>) -> Option<JoinHandle<()>> {
    house.shim.as_ref()?;
    tokio::spawn(follow(house.clone()));
    Some(tokio::spawn(report(house.clone())))
}
