//! What does the shim hold and use while its engine has nothing to do?

use std::{io, time::Duration};

use crate::{
    machine::{cpu_micros, pause, resident_kib},
    peers::Yard,
};

/// One shim beside an idle engine.
#[derive(Clone, Copy)]
pub(crate) struct Shim {
    /// In KiB.
    pub(crate) resident: f64,
    /// Microseconds of CPU time in a second.
    pub(crate) cpu: f64,
}

/// How long it is watched. Its engine is probed every two seconds.
const WATCHED: Duration = Duration::from_secs(10);

/// `None` where its program was not given.
///
/// # Errors
/// What the system says.
pub(crate) fn measure(yard: &Yard) -> io::Result<Option<Shim>> {
    let Some(running) = yard.start_shim()? else { return Ok(None) };
    pause(Duration::from_secs(1));
    let before = cpu_micros(running.pid())?;
    pause(WATCHED);
    let cpu = (cpu_micros(running.pid())? - before) / WATCHED.as_secs_f64();
    let shim = Shim { resident: resident_kib(running.pid())?, cpu };
    running.stop()?;
    Ok(Some(shim))
}
