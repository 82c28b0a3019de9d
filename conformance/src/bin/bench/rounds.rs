//! How much CPU time does a request cost, and how much later is it answered?
//!
//! Every round loads every peer once, in turn and in alternating order. What is compared was measured in the same round.
//! Latency on one connection is taken request by request in turn, with everybody on one core.

use std::{collections::BTreeMap, io, time::Instant};

use crate::{
    load::{self, Until},
    machine::cpu_micros,
    peers::{Peer, Running, Yard},
    pin::Pinned,
    plan::{CONNECTIONS, Plan, WARM_UP},
    stats::median,
    wire::{Connection, Shape},
};

/// One value per round.
#[derive(Default)]
pub(crate) struct Series {
    /// CPU microseconds per request.
    pub(crate) cpu: Vec<f64>,
    /// Median microseconds to the whole answer, on one connection.
    pub(crate) single: Vec<f64>,
    /// Answers per second under full load.
    pub(crate) rate: Vec<f64>,
}

/// By who was asked (`None`: the engine itself) and with what.
pub(crate) type Rounds = BTreeMap<(Option<Peer>, &'static str), Series>;

/// Whoever is asked.
struct Asked {
    peer: Option<Peer>,
    running: Option<Running>,
    port: u16,
}

/// # Errors
/// A peer that does not start, ends, or answers anything but 200.
pub(crate) fn measure(yard: &Yard, plan: &Plan) -> io::Result<Rounds> {
    let mut asked = vec![Asked { peer: None, running: None, port: yard.engine() }];
    for peer in yard.present() {
        let running = yard.start(peer, &[])?;
        asked.push(Asked { peer: Some(peer), port: running.port, running: Some(running) });
    }
    for one in &asked {
        for shape in Shape::ALL {
            load::run(one.port, &shape.request(), CONNECTIONS, Until::Requests(WARM_UP))?;
        }
    }
    let mut rounds = Rounds::new();
    for _round in 0..plan.rounds {
        for shape in Shape::ALL {
            for one in &asked {
                busy(plan, shape, one, rounds.entry((one.peer, shape.key())).or_default())?;
            }
            for (one, micros) in asked.iter().zip(in_turn(yard, plan, shape, &asked)?) {
                rounds.entry((one.peer, shape.key())).or_default().single.push(median(&micros));
            }
        }
        asked.reverse();
    }
    Ok(rounds)
}

/// Full load on one of them.
fn busy(plan: &Plan, shape: Shape, asked: &Asked, series: &mut Series) -> io::Result<()> {
    let spent = || asked.running.as_ref().map_or(Ok(f64::NAN), |running| cpu_micros(running.pid()));
    let before = spent()?;
    let tally = load::run(asked.port, &shape.request(), CONNECTIONS, Until::Time(plan.round))?;
    series.cpu.push((spent()? - before) / tally.answers() as f64);
    series.rate.push(tally.answers() as f64 / plan.round.as_secs_f64());
    Ok(())
}

/// One request to each of them, then the next; microseconds of each.
fn in_turn(yard: &Yard, plan: &Plan, shape: Shape, asked: &[Asked]) -> io::Result<Vec<Vec<f64>>> {
    let request = shape.request();
    let _pinned =
        Pinned::with(yard.taskset.as_ref(), asked.iter().filter_map(|one| Some(one.running.as_ref()?.pid())))?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut connections = Vec::new();
        for one in asked {
            connections.push(Connection::open(one.port).await?);
        }
        let mut micros = vec![Vec::new(); asked.len()];
        for _ in 0..plan.singles {
            for (connection, micros) in connections.iter_mut().zip(&mut micros) {
                let began = Instant::now();
                if !connection.exchange(&request).await? {
                    return Err(io::Error::other("not a 200 on one connection"));
                }
                micros.push(began.elapsed().as_secs_f64() * 1e6);
            }
        }
        Ok(micros)
    })
}
