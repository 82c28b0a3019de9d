//! Engines of every kind, as presets.

use spillway_filters::feed::State;
use spillway_filters::presets::{
    Call, Flag, Health, Launch, Listens, Method, ModelList, Origin, Preset, Queue, Sleep, Wake, Watch,
};

const ORIGIN: Origin = Origin::CONFIGURED;

const WATCH: Watch = Watch {
    every_ms: 2_000,
    eager_ms: 200,
    listens: Listens::Loaded,
    health: Some(Health { path: "/health", loading: &[503], origin: ORIGIN }),
    models: None,
    queue: None,
    asleep: None,
};

const BASE: Preset = Preset {
    name: "base",
    port: 8000,
    rules: &[],
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    sleep: None,
    watch: WATCH,
    launch: Launch::UNKNOWN,
    validates_first: false,
};

const fn call(path: &'static str) -> Call {
    Call { method: Method::Post, path, body: "", already: None, origin: ORIGIN }
}

const QUEUE: Queue =
    Queue { path: "/metrics", running: &["running"], waiting: &["waiting"], wakes: false, origin: ORIGIN };
const FLAG: Flag = Flag { path: "/is_sleeping", pointer: "/is_sleeping", origin: ORIGIN };
const LIST: ModelList = ModelList {
    call: call("/models"),
    list: "",
    names: &["/name"],
    state: "",
    states: &[],
    failed: "",
    unlisted: Some(State::Absent),
    optional_ending: "",
    never_listed: &[],
    gates: true,
};

/// Loads and then listens; nothing else is told.
pub(crate) static PLAIN: Preset = BASE;

/// Listens and then loads; its health has no status of its own for loading again.
pub(crate) static FIRST: Preset = Preset {
    watch: Watch {
        listens: Listens::First,
        health: Some(Health { path: "/health", loading: &[], origin: ORIGIN }),
        ..WATCH
    },
    ..BASE
};

/// Tells its queue.
pub(crate) static QUEUED: Preset = Preset { watch: Watch { queue: Some(QUEUE), ..WATCH }, ..BASE };

/// As [`NAPPER`], and it tells its queue, which wakes it.
pub(crate) static WOKEN_BY_QUEUE: Preset =
    Preset { watch: Watch { queue: Some(Queue { wakes: true, ..QUEUE }), asleep: Some(FLAG), ..WATCH }, ..BASE };

/// Sleeps and wakes as a whole by a call, and tells whether it does.
pub(crate) static SLEEPER: Preset = Preset {
    sleep: Some(Sleep { sleep: call("/sleep"), wake: Some(call("/wake_up")), per_model: false }),
    watch: Watch { queue: Some(QUEUE), asleep: Some(FLAG), ..WATCH },
    ..BASE
};

/// Sleeps by itself and is woken by a request.
pub(crate) static NAPPER: Preset = Preset { watch: Watch { asleep: Some(FLAG), ..WATCH }, ..BASE };

/// Several models; a call loads one and is answered when that is done; another gives its memory back.
pub(crate) static SEVERAL: Preset = Preset {
    wake: Wake::Call { call: call("/load"), blocks: true },
    sleep: Some(Sleep { sleep: call("/unload"), wake: None, per_model: true }),
    watch: Watch { models: Some(LIST), ..WATCH },
    ..BASE
};

/// As [`SEVERAL`], but a load is only begun by the call, and loaded and unloaded models are listed alike.
pub(crate) static ROUTER: Preset = Preset {
    wake: Wake::Call { call: call("/load"), blocks: false },
    watch: Watch { models: Some(ModelList { unlisted: None, state: "/status", ..LIST }), ..WATCH },
    sleep: None,
    ..BASE
};

/// Several models that only requests load; it refuses by itself.
pub(crate) static BY_REFUSAL: Preset = Preset {
    wake: Wake::ByRefusal,
    watch: Watch { models: Some(ModelList { gates: false, ..LIST }), ..WATCH },
    ..BASE
};

/// One of each kind, for what must hold whatever the engine.
pub(crate) const PRESETS: [&Preset; 7] = [&PLAIN, &FIRST, &QUEUED, &SLEEPER, &SEVERAL, &ROUTER, &BY_REFUSAL];
