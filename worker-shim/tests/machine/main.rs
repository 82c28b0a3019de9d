//! The machine, row by row: what happens, what it says, what it wants done.

mod drain;
mod engines;
mod live;
mod models;
mod probes;
mod process;
mod rig;
mod sleep;
mod walk;
