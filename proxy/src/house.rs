//! Everything the exchanges of one process share.

use crate::budget::Budget;
use crate::clock::Clock;
use crate::config::Config;
use crate::engine::Engine;
use crate::shim::Shim;
use crate::telemetry::Access;
use crate::upstream::Outlet;
use crate::warmup::Warmup;
use spillway_filters::validate::{Dialect, Rules};
use spillway_policies::routing::{Policy, Profile, Routes};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The sidecar's shared state. Built once from a configuration.
pub(crate) struct House {
    pub(crate) remote_serving: bool,
    pub(crate) routes: Routes,
    pub(crate) clock: Arc<Clock>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) outlets: BTreeMap<String, Arc<Outlet>>,
    pub(crate) warmup: Warmup,
    /// Who knows the engine's state, when the configuration names it.
    pub(crate) shim: Option<Arc<Shim>>,
    pub(crate) access: Access,
    /// Bytes of all held bodies together.
    pub(crate) held: Arc<Budget>,
    pub(crate) max_body_bytes: usize,
    pub(crate) first_byte_budget_ms: u64,
    pub(crate) head_timeout_ms: u64,
    pub(crate) body_timeout_ms: u64,
    pub(crate) idle_timeout_ms: u64,
    pub(crate) fast_lane: bool,
    retired: AtomicBool,
    draining: AtomicBool,
    exchanges: AtomicUsize,
}

impl House {
    /// Builds the shared state. Nothing is bound or connected yet.
    #[must_use]
    pub(crate) fn new(config: &Config, workers: usize) -> Arc<Self> {
        let clock = Clock::new(workers);
        let outlets = config.upstreams.iter().map(|upstream| {
            (upstream.name.as_str().to_owned(), Arc::new(Outlet::new(upstream.clone(), clock.clone())))
        });
        Arc::new(Self {
            remote_serving: config.remote_serving,
            routes: config.routes.clone(),
            engine: Arc::new(Engine::new(&config.engine, workers)),
            outlets: outlets.collect(),
            warmup: Warmup::default(),
            shim: config.engine.shim.clone().map(|address| Arc::new(Shim::new(address, config.engine.preset.name))),
            access: Access::new(config.log.access, config.log.format),
            held: Budget::new(config.listen.max_held_bytes),
            max_body_bytes: config.listen.max_body_bytes,
            first_byte_budget_ms: config.listen.first_byte_budget_ms,
            head_timeout_ms: config.listen.head_timeout_ms,
            body_timeout_ms: config.listen.body_timeout_ms,
            idle_timeout_ms: config.listen.idle_timeout_ms,
            fast_lane: config.listen.fast_lane,
            retired: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            exchanges: AtomicUsize::new(0),
            clock,
        })
    }

    /// Whether no way of naming this model leads to an upstream.
    pub(crate) fn is_local_only(&self, written: &str) -> bool {
        self.routes.named(written).is_none_or(|model| {
            matches!(model.policy, Policy::Local)
                && model.profiles.values().all(|profile| matches!(profile, Profile::Local))
        })
    }

    /// Whose API the callers use: the engine's.
    pub(crate) fn dialect(&self) -> Dialect {
        if self.engine.preset.validates_first { Dialect::Sie } else { Dialect::Openai }
    }

    /// What a call of this model is checked against, whichever side serves it: the fields are those of the engine's API.
    pub(crate) fn field_rules(&self, written: &str) -> Rules<'_> {
        let model = self.routes.named(written);
        let tasks = model.map(|model| &model.tasks);
        Rules {
            dialect: self.dialect(),
            accept: model.map_or(&[], |model| &model.accept_params),
            dense_dim: tasks.and_then(|tasks| tasks.dense_dim).map(u64::from),
            max_output_tokens: tasks.and_then(|tasks| tasks.max_output_tokens).map(u64::from),
        }
    }

    /// Whether any configured model has a way to an upstream.
    pub(crate) fn has_remote(&self) -> bool {
        self.routes.iter().any(|(name, _)| !self.is_local_only(name))
    }

    /// Whether the process is on its way out: no further request on any connection.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Not ready any more; everything still served.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    /// Whether readiness is off.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Stops keep-alive and wakes idle connections, so that they close at once.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.clock.wake_all();
    }

    /// Counts an exchange until the guard goes.
    pub(crate) fn enter(self: &Arc<Self>) -> Inside {
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        Inside(self.clone())
    }

    /// Exchanges in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.exchanges.load(Ordering::Relaxed)
    }

    /// What is due every tick: old idle connections, buffered access lines.
    pub(crate) fn each_tick(&self, tick: u32) {
        self.engine.sweep(tick);
        self.access.flush();
    }
}

/// One exchange in flight.
pub(crate) struct Inside(Arc<House>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.exchanges.fetch_sub(1, Ordering::Relaxed);
    }
}
