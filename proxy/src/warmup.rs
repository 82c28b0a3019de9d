//! Every bridged call wakes the engine: by the refused request itself, by the shim, or by the preset's load-only call. One at a time per
//! model.

use crate::control::{self, Credential, Question};
use crate::engine::Engine;
use crate::house::House;
use crate::shim::Shim;
use crate::telemetry::Exchange;
use parking_lot::Mutex;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::presets::{Call, Wake};
use spillway_policies::Surface;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one load-only call may take.
const LOAD_TIME: Duration = Duration::from_secs(600);
/// The first pause after a failed load; it doubles with every failure.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// For so long nobody repeats a wish that was heard: the engine's state has yet to follow.
const HEARD_PAUSE: Duration = Duration::from_millis(250);
/// The log is not told of the same outcome again for so long.
const SAID_TIME: Duration = Duration::from_secs(1);
/// For so long a model that was loaded and is not listed is believed to be loaded under another name; then it is loaded again.
const ALIAS_TIME: Duration = Duration::from_secs(300);
/// After this many failures in a row the pause stays at its longest: a load that keeps failing costs the engine more than it helps.
const LATCH_AFTER: u32 = 6;

/// Which models are being loaded, and how often that failed.
#[derive(Clone, Default)]
pub(crate) struct Warmup(Arc<Mutex<Loads>>);

#[derive(Default)]
struct Loads {
    by_model: HashMap<String, Load>,
    /// Models that the engine says it has loaded and has not listed since: it may list them under another name.
    unlisted: HashMap<String, Instant>,
    /// Tells keys apart without keeping one.
    marks: RandomState,
}

/// One model's loads.
struct Load {
    running: bool,
    failures: u32,
    not_before: Instant,
    /// The mark of the key that the engine turned away, when that was the failure: whoever brings another one may still load.
    turned_away: Option<u64>,
    /// What the log was told last, and when.
    said: Option<(Loaded, Instant)>,
}

/// Wakes the engine in the background, for nobody's model.
pub(crate) fn wake_engine(house: &House) {
    wake(house, "", b"");
}

/// Wakes the engine for `model` in the background, unless that is happening already or has just been tried. `call` is the head of the call
/// that wants it: an engine that asks for a key loads nothing without one.
pub(crate) fn wake(house: &House, model: &str, call: &[u8]) {
    // Callers' own names wake the engine, not a model, so the table stays as small as the configuration.
    let model = house.routes.named(model).is_some().then_some(model);
    let Some(way) = Way::to(house, model, call) else { return };
    let key = model.unwrap_or_default();
    let mark = house.warmup.mark(call);
    if !house.warmup.begin(key, mark, Instant::now()) {
        return;
    }
    let (warmup, key, model) = (house.warmup.clone(), key.to_owned(), model.map(str::to_owned));
    let (engine, clock) = (house.engine.clone(), house.clock.clone());
    tokio::spawn(async move {
        let loaded = tokio::time::timeout(LOAD_TIME, way.load(model.as_deref())).await.unwrap_or(Loaded::No(None));
        if loaded == Loaded::Yes {
            // By a list from before, it would be loaded once more.
            engine.listed.outdate(clock.tick());
        }
        if warmup.end(&key, loaded, mark, Instant::now()) {
            loaded.tell(model.as_deref());
        }
    });
}

/// What a call gets that can only go to the engine, when that is not there or is to be left alone. It is woken, unless the call only reads.
/// None: the engine is asked.
pub(crate) fn refuse_unbridged(
    house: &House,
    log: &mut Exchange,
    surface: Option<Surface>,
    only_reads: bool,
) -> Option<ErrorAnswer> {
    let seen = house.shim.as_ref()?.foresee_unbridged(surface, only_reads)?;
    log.foreseen = true;
    if !only_reads {
        wake_engine(house);
    }
    Some(seen.answer)
}

/// How a wish ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loaded {
    /// The model is loaded.
    Yes,
    /// It is on its way.
    Begun,
    /// It cannot be loaded: the status that said so, where one did.
    No(Option<u16>),
    /// There was nobody to ask: no failure of the model.
    NotAsked,
}

impl Loaded {
    /// Tells the log. A failure has its pause, so this comes once in each.
    fn tell(self, model: Option<&str>) {
        let status = match self {
            Self::Yes => return tracing::info!(model, loaded = "yes", "asked for a load"),
            Self::Begun => return tracing::info!(model, loaded = "begun", "asked for a load"),
            Self::NotAsked => return tracing::info!(model, loaded = "not_asked", "asked for a load"),
            Self::No(status) => status,
        };
        let why = match status {
            Some(401 | 403) => {
                "the engine asks for a key, and the call that wanted the model brought none that it takes"
            }
            Some(404 | 405 | 501) => {
                "the engine has no such call, or no model of this name: compare its version with its preset"
            }
            Some(_) | None => "see the log of the engine, or of its shim",
        };
        tracing::warn!(model, status, "asked for a load in vain: {why}");
    }
}

/// Who is asked.
enum Way {
    /// The shim, which knows what is loading already and can start the engine.
    Shim(Arc<Shim>),
    /// The engine itself, on behalf of whoever called, and whether it answers only when it has loaded.
    Engine(Arc<Engine>, Call, bool, Option<Credential>),
}

impl Way {
    /// Who can wake this model; none: nobody needs to, or nobody can.
    fn to(house: &House, model: Option<&str>, caller: &[u8]) -> Option<Self> {
        let wake = house.engine.preset.wake;
        if let Some(shim) = house.shim.as_ref().filter(|shim| shim.is_live()) {
            // Where the refused request was the wish, only an engine that is away needs another.
            let model = model.filter(|_| wake != Wake::ByRefusal);
            return shim.needs_a_wish(model).then(|| Self::Shim(shim.clone()));
        }
        match (wake, model) {
            (Wake::Call { call, blocks }, Some(_)) => {
                Some(Self::Engine(house.engine.clone(), call, blocks, Credential::of(caller)))
            }
            _ => None,
        }
    }

    async fn load(self, model: Option<&str>) -> Loaded {
        match self {
            Self::Shim(shim) => match shim.load(model).await {
                None => Loaded::NotAsked,
                Some(true) => Loaded::Begun,
                Some(false) => Loaded::No(None),
            },
            Self::Engine(engine, call, blocks, credential) => {
                let model = model.unwrap_or_default();
                let path = format!("{}{}", engine.path_prefix, call.path_for(model));
                let question = Question {
                    method: call.method.token(),
                    path: &path,
                    body: call.body_for(model),
                    host: engine.address(),
                };
                let Ok(peers) = engine.peers().await else { return Loaded::NotAsked };
                match control::ask_as(credential, &peers, question).await {
                    None if !control::is_there(&peers).await => Loaded::NotAsked,
                    Some((status, body)) if call.is_done(status, &body) => {
                        if blocks {
                            Loaded::Yes
                        } else {
                            Loaded::Begun
                        }
                    }
                    answer => Loaded::No(answer.map(|(status, _)| status)),
                }
            }
        }
    }
}

impl Warmup {
    /// Whether a load may start now; if so, it has.
    fn begin(&self, model: &str, mark: u64, now: Instant) -> bool {
        let mut loads = self.0.lock();
        let new = || Load { running: false, failures: 0, not_before: now, turned_away: None, said: None };
        let load = loads.by_model.entry(model.to_owned()).or_insert_with(new);
        if load.running || load.has_pause(mark, now) {
            return false;
        }
        load.running = true;
        true
    }

    /// Whether a load of this model that was asked for has not been answered.
    pub(crate) fn is_loading(&self, model: &str) -> bool {
        self.0.lock().by_model.get(model).is_some_and(|load| load.running)
    }

    /// Whether a load of this model has failed, and is not asked for again yet with what this call brings.
    pub(crate) fn is_held_back(&self, model: &str, call: &[u8]) -> bool {
        let loads = self.0.lock();
        let Some(load) = loads.by_model.get(model).filter(|load| load.failures > 0) else { return false };
        load.has_pause(loads.mark(call), Instant::now())
    }

    /// What tells the key of this call from another one.
    fn mark(&self, call: &[u8]) -> u64 {
        self.0.lock().mark(call)
    }

    /// Whether the engine may have this model under another name: it loaded it, and does not list it.
    pub(crate) fn may_be_an_alias(&self, model: &str) -> bool {
        self.0.lock().unlisted.get(model).is_some_and(|since| since.elapsed() < ALIAS_TIME)
    }

    /// The engine lists this model.
    pub(crate) fn is_listed(&self, model: &str) {
        self.0.lock().unlisted.remove(model);
    }

    /// Takes in how a load ended; whether the log is to be told.
    fn end(&self, model: &str, loaded: Loaded, mark: u64, now: Instant) -> bool {
        let mut loads = self.0.lock();
        if loaded == Loaded::Yes {
            loads.unlisted.insert(model.to_owned(), now);
        }
        let Some(load) = loads.by_model.get_mut(model) else { return false };
        load.running = false;
        load.failures = match loaded {
            Loaded::Yes | Loaded::Begun => 0,
            Loaded::NotAsked => load.failures,
            Loaded::No(_) => (load.failures + 1).min(LATCH_AFTER),
        };
        load.turned_away = matches!(loaded, Loaded::No(Some(401 | 403))).then_some(mark);
        load.not_before = now
            + match loaded {
                Loaded::Yes | Loaded::Begun => HEARD_PAUSE,
                Loaded::NotAsked => FIRST_PAUSE,
                Loaded::No(_) => FIRST_PAUSE * 2_u32.pow(load.failures - 1),
            };
        let is_known = load.said.is_some_and(|(said, at)| said == loaded && now < at + SAID_TIME);
        if !is_known {
            load.said = Some((loaded, now));
        }
        !is_known
    }
}

impl Loads {
    fn mark(&self, call: &[u8]) -> u64 {
        self.marks.hash_one(Credential::of(call))
    }
}

impl Load {
    /// Whether nobody with this mark asks yet.
    fn has_pause(&self, mark: u64, now: Instant) -> bool {
        now < self.not_before && self.turned_away.is_none_or(|turned_away| turned_away == mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_load_at_a_time_and_a_pause_after_a_failure() {
        let (warmup, now) = (Warmup::default(), Instant::now());
        assert!(warmup.begin("m", 0, now));
        assert!(warmup.is_loading("m") && !warmup.is_loading("other"));
        assert!(!warmup.begin("m", 0, now));
        assert!(warmup.begin("other", 0, now));
        assert!(!warmup.is_held_back("m", b""));
        assert!(warmup.end("m", Loaded::No(None), 0, now));
        assert!(!warmup.is_loading("m") && warmup.is_held_back("m", b"") && !warmup.is_held_back("other", b""));
        assert!(!warmup.begin("m", 0, now));
        assert!(warmup.begin("m", 0, now + FIRST_PAUSE));
        assert!(warmup.end("m", Loaded::No(None), 0, now + FIRST_PAUSE));
        assert!(!warmup.begin("m", 0, now + FIRST_PAUSE * 2));
        assert!(warmup.begin("m", 0, now + FIRST_PAUSE * 3));
    }

    #[test]
    fn a_key_that_is_turned_away_holds_nobody_elses_load_back() {
        let (warmup, now) = (Warmup::default(), Instant::now());
        let calls = [
            &b""[..],
            b"POST / HTTP/1.1\r\nAuthorization: Bearer a\r\n",
            b"POST / HTTP/1.1\r\nAuthorization: Bearer b\r\n",
        ];
        let [none, bad, good] = calls.map(|call| warmup.mark(call));
        for mark in [none, bad] {
            assert!(warmup.begin("m", mark, now));
            warmup.end("m", Loaded::No(Some(401)), mark, now);
            assert!(!warmup.begin("m", mark, now), "it would be turned away again");
        }
        assert!(warmup.is_held_back("m", calls[1]) && !warmup.is_held_back("m", calls[2]));
        assert!(warmup.begin("m", good, now));
        warmup.end("m", Loaded::Begun, good, now);
        assert!(!warmup.is_held_back("m", calls[1]));
        // What is no matter of keys holds for everybody.
        let later = now + HEARD_PAUSE;
        assert!(warmup.begin("m", bad, later));
        warmup.end("m", Loaded::No(Some(500)), bad, later);
        assert!(!warmup.begin("m", good, later) && warmup.is_held_back("m", calls[2]));
    }

    #[test]
    fn a_wish_that_was_heard_is_not_repeated_at_once_and_told_once_a_second() {
        let (warmup, now) = (Warmup::default(), Instant::now());
        assert!(warmup.begin("m", 0, now));
        assert!(warmup.end("m", Loaded::Begun, 0, now));
        // It is not being loaded by us, nor has it failed.
        assert!(!warmup.begin("m", 0, now) && !warmup.is_loading("m") && !warmup.is_held_back("m", b""));
        assert!(!warmup.may_be_an_alias("m"));
        let later = now + HEARD_PAUSE;
        assert!(warmup.begin("m", 0, later) && !warmup.end("m", Loaded::Begun, 0, later));
        let later = later + HEARD_PAUSE;
        assert!(warmup.begin("m", 0, later) && warmup.end("m", Loaded::No(Some(500)), 0, later));
        let later = later + FIRST_PAUSE;
        assert!(warmup.begin("m", 0, later) && warmup.end("m", Loaded::Begun, 0, later));
        assert!(warmup.begin("m", 0, later + SAID_TIME) && warmup.end("m", Loaded::Begun, 0, later + SAID_TIME));
    }
}
