//! Why is a wish not granted, in words that say what helps?

use crate::asked::{Refused, Reply};

const fn refuse(status: u16, code: &'static str, message: &'static str, retry_after_s: Option<u64>) -> Reply {
    Reply::Refused(Refused { status, code, message, retry_after_s })
}

pub(super) const fn draining() -> Reply {
    refuse(503, "DRAINING", "The engine is being ended. Ask again when it has been started anew.", None)
}

pub(super) const fn busy() -> Reply {
    refuse(503, "BUSY", "The engine is on its way to sleep or awake.", Some(1))
}

pub(super) const fn too_many() -> Reply {
    refuse(503, "BUSY", "Too many loads are under way.", Some(5))
}

pub(super) fn load_failed(pause_ms: u64) -> Reply {
    let message = "Earlier loads have failed, so none is tried for a while.";
    refuse(503, "LOAD_FAILED", message, Some(pause_ms.div_ceil(1_000).max(1)))
}

pub(super) const fn unhealthy() -> Reply {
    let message = "The engine runs and is not well.";
    refuse(503, "ENGINE_UNHEALTHY", message, Some(5))
}

pub(super) const fn absent() -> Reply {
    let message = "Nobody listens where the engine is to be, and the shim did not start it. Start it, tell the shim with --engine where it \
                   listens, or give the shim its command.";
    refuse(503, "ENGINE_ABSENT", message, Some(5))
}

pub(super) const fn not_loadable() -> Reply {
    refuse(501, "NOT_LOADABLE", "This engine loads a model only when a request for it comes. Send one.", None)
}

pub(super) const fn no_sleep() -> Reply {
    let message = "This engine has no sleep call (vLLM has one with VLLM_SERVER_DEV_MODE=1 and --enable-sleep-mode), and the shim \
                   did not start it, so it is not ended. End it yourself, or give the shim its command.";
    refuse(501, "NO_SLEEP", message, None)
}

pub(super) const fn no_sleep_of_a_model() -> Reply {
    refuse(501, "NO_SLEEP", "This engine sleeps as a whole only. Leave the model out.", None)
}
