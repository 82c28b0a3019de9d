//! How long after a refusal is the upstream asked, and what does the whole detour add?
//!
//! One call at a time, everybody on one core: the engine alone, the upstream alone, then through the sidecar.

use std::{io, time::Instant};

use crate::{
    peers::{Peer, Yard},
    pin::Pinned,
    plan::Plan,
    scripted::{COLD, FIRST_CONTENT, Gaps},
    stats::median,
    wire::{Connection, chat, embeddings, field, head_end},
};

/// Medians in microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Bridge {
    /// From the refusal's last byte written by the engine to the re-issued request read whole by the upstream.
    pub(crate) reissue: f64,
    /// A buffered answer through the sidecar.
    pub(crate) buffered: f64,
    /// The same less the engine's refusal and the upstream's answer asked directly.
    pub(crate) buffered_added: f64,
    /// The first content event of a stream through the sidecar.
    pub(crate) first_event: f64,
    /// The same less refusal and first event asked directly: what priming and the detour add.
    pub(crate) first_event_added: f64,
    /// [`INPUTS`] embeddings of 1,024 components, asked of the upstream in one request.
    pub(crate) together: f64,
    /// The same in one request per input.
    pub(crate) apart: f64,
}

/// Inputs of an embeddings call.
const INPUTS: usize = 64;

/// `None` where the sidecar is not measured.
///
/// # Errors
/// A bridged call that was not served by the upstream.
pub(crate) fn measure(yard: &Yard, plan: &Plan, gaps: &Gaps) -> io::Result<Option<Bridge>> {
    if !yard.present().contains(&Peer::Spillway) {
        return Ok(None);
    }
    let running = yard.start(Peer::Spillway, &[])?;
    let pinned = Pinned::with(yard.taskset.as_ref(), [running.pid()])?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ports = Ports { engine: yard.engine(), upstream: yard.upstream(), sidecar: running.port };
    let bridge = runtime.block_on(async {
        let buffered = detours(&ports, false, plan.bridged, gaps).await?;
        let streamed = detours(&ports, true, plan.bridged, gaps).await?;
        io::Result::Ok(Bridge {
            reissue: median(&[buffered.gaps, streamed.gaps].concat()),
            buffered: median(&buffered.through),
            buffered_added: median(&buffered.through) - median(&buffered.engine) - median(&buffered.upstream),
            first_event: median(&streamed.through),
            first_event_added: median(&streamed.through) - median(&streamed.engine) - median(&streamed.upstream),
            together: embedded(&ports, "together", plan.bridged / 10).await?,
            apart: embedded(&ports, "apart", plan.bridged / 10).await?,
        })
    })?;
    drop(pinned);
    running.stop()?;
    Ok(Some(bridge))
}

struct Ports {
    engine: u16,
    upstream: u16,
    sidecar: u16,
}

#[derive(Default)]
struct Detours {
    engine: Vec<f64>,
    upstream: Vec<f64>,
    through: Vec<f64>,
    gaps: Vec<f64>,
}

/// Connections and pools are warm after this many.
const WARM: usize = 20;

async fn detours(ports: &Ports, stream: bool, count: usize, gaps: &Gaps) -> io::Result<Detours> {
    let (cold, warm) = (chat(COLD, stream), chat("vendor/warm", stream));
    let mut engine = Connection::open(ports.engine).await?;
    let mut upstream = Connection::open(ports.upstream).await?;
    let mut sidecar = Connection::open(ports.sidecar).await?;
    let mut detours = Detours::default();
    for turn in 0..count + WARM {
        let refused = until_answered(&mut engine, &cold).await?;
        let answered = until_content(&mut upstream, &warm, stream).await?;
        gaps.take();
        let through = until_content(&mut sidecar, &cold, stream).await?;
        require_remote(sidecar.received())?;
        if turn >= WARM {
            detours.engine.push(refused);
            detours.upstream.push(answered);
            detours.through.push(through);
            detours.gaps.extend(gaps.take());
        }
    }
    Ok(detours)
}

/// The median of so many embeddings calls on a remote-only model.
async fn embedded(ports: &Ports, model: &str, count: usize) -> io::Result<f64> {
    let call = embeddings(model, INPUTS);
    let mut sidecar = Connection::open(ports.sidecar).await?;
    let mut times = Vec::new();
    for turn in 0..count + WARM {
        let micros = until_answered(&mut sidecar, &call).await?;
        require_remote(sidecar.received())?;
        times.extend((turn >= WARM).then_some(micros));
    }
    Ok(median(&times))
}

async fn until_answered(connection: &mut Connection, request: &[u8]) -> io::Result<f64> {
    let began = Instant::now();
    connection.exchange(request).await?;
    Ok(began.elapsed().as_secs_f64() * 1e6)
}

/// Microseconds to the first content; the rest of a stream is read too, but not timed.
async fn until_content(connection: &mut Connection, request: &[u8], stream: bool) -> io::Result<f64> {
    if !stream {
        return until_answered(connection, request).await;
    }
    let began = Instant::now();
    connection.send(request).await?;
    connection.read_until(FIRST_CONTENT).await?;
    let micros = began.elapsed().as_secs_f64() * 1e6;
    connection.read_answer().await?;
    Ok(micros)
}

fn require_remote(answer: &[u8]) -> io::Result<()> {
    let head = &answer[..head_end(answer).unwrap_or(0)];
    if head.starts_with(b"HTTP/1.1 200 ") && field(head, "x-sie-served-by") == Some("remote") {
        return Ok(());
    }
    Err(io::Error::other(format!("a refused call was not bridged:\n{}", String::from_utf8_lossy(answer))))
}
