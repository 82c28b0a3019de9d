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
}

/// One model's loads.
struct Load {
    running: bool,
    failures: u32,
    not_before: Instant,
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
    if !house.warmup.begin(key, Instant::now()) {
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
        if warmup.end(&key, loaded, Instant::now()) {
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
    const fn token(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Begun => "begun",
            Self::No(_) => "no",
            Self::NotAsked => "not_asked",
        }
    }

    /// Tells the log. A failure has its pause, so this comes once in each.
    fn tell(self, model: Option<&str>) {
        let Self::No(status) = self else {
            tracing::info!(model, loaded = self.token(), "asked for a load");
            return;
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
    fn begin(&self, model: &str, now: Instant) -> bool {
        let mut loads = self.0.lock();
        let new = || Load { running: false, failures: 0, not_before: now, said: None };
        let load = loads.by_model.entry(model.to_owned()).or_insert_with(new);
        if load.running || now < load.not_before {
            return false;
        }
        load.running = true;
        true
    }

    /// Whether a load of this model that was asked for has not been answered.
    pub(crate) fn is_loading(&self, model: &str) -> bool {
        self.0.lock().by_model.get(model).is_some_and(|load| load.running)
    }

    /// Whether a load of this model has failed, and is not asked for again yet.
    pub(crate) fn is_held_back(&self, model: &str) -> bool {
        let loads = self.0.lock();
        loads.by_model.get(model).is_some_and(|load| load.failures > 0 && Instant::now() < load.not_before)
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
    fn end(&self, model: &str, loaded: Loaded, now: Instant) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_load_at_a_time_and_a_pause_after_a_failure() {
        let (warmup, now) = (Warmup::default(), Instant::now());
        assert!(warmup.begin("m", now));
        assert!(warmup.is_loading("m") && !warmup.is_loading("other"));
        assert!(!warmup.begin("m", now));
        assert!(warmup.begin("other", now));
        assert!(!warmup.is_held_back("m"));
        assert!(warmup.end("m", Loaded::No(None), now));
        assert!(!warmup.is_loading("m") && warmup.is_held_back("m") && !warmup.is_held_back("other"));
        assert!(!warmup.begin("m", now));
        assert!(warmup.begin("m", now + FIRST_PAUSE));
        assert!(warmup.end("m", Loaded::No(None), now + FIRST_PAUSE));
        assert!(!warmup.begin("m", now + FIRST_PAUSE * 2));
        assert!(warmup.begin("m", now + FIRST_PAUSE * 3));
    }

    #[test]
    fn a_wish_that_was_heard_is_not_repeated_at_once_and_told_once_a_second() {
        let (warmup, now) = (Warmup::default(), Instant::now());
        assert!(warmup.begin("m", now));
        assert!(warmup.end("m", Loaded::Begun, now));
        // It is not being loaded by us, nor has it failed.
        assert!(!warmup.begin("m", now) && !warmup.is_loading("m") && !warmup.is_held_back("m"));
        assert!(!warmup.may_be_an_alias("m"));
        let later = now + HEARD_PAUSE;
        assert!(warmup.begin("m", later) && !warmup.end("m", Loaded::Begun, later));
        let later = later + HEARD_PAUSE;
        assert!(warmup.begin("m", later) && warmup.end("m", Loaded::No(Some(500)), later));
        let later = later + FIRST_PAUSE;
        assert!(warmup.begin("m", later) && warmup.end("m", Loaded::Begun, later));
        assert!(warmup.begin("m", later + SAID_TIME) && warmup.end("m", Loaded::Begun, later + SAID_TIME));
    }
}
