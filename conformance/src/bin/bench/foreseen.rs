//! What does a refusal cost that is made from the engine's state, and how soon is a change of that state known?
//!
//! A scripted shim beside the sidecar, one call at a time, everybody on one core.

use std::{io, net::Ipv4Addr, time::Instant};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use crate::{
    peers::{Peer, Yard},
    pin::Pinned,
    plan::Plan,
    stats::median,
    wire::{Connection, chat, content_length, head_end},
};

/// In microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Foreseen {
    /// The median of whole answers: a refusal made from the state, on one connection.
    pub(crate) refused: f64,
    /// From a snapshot's last byte written by the shim to the sidecar's word that it acts on it: the median.
    pub(crate) seen: f64,
    /// The same, the longest.
    pub(crate) seen_most: f64,
}

/// Connections are warm after this many.
const WARM: usize = 20;

/// `None` where the sidecar is not measured.
///
/// # Errors
/// A call that was not refused from the state, or a shim that nobody follows.
pub(crate) fn measure(yard: &Yard, plan: &Plan) -> io::Result<Option<Foreseen>> {
    if !yard.present().contains(&Peer::Spillway) {
        return Ok(None);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let running = yard.start_beside(listener.local_addr()?.port())?;
    let pinned = Pinned::with(yard.taskset.as_ref(), [running.pid()])?;
    let foreseen = runtime.block_on(async {
        let mut shim = Shim::new(listener);
        shim.tell("loading").await?;
        let refused = refusals(running.port, plan.bridged).await?;
        let mut seen = Vec::new();
        for turn in 0..plan.bridged / 10 {
            seen.push(shim.tell(if turn % 2 == 0 { "ready" } else { "loading" }).await?);
        }
        let seen_most = seen.iter().copied().fold(0.0, f64::max);
        io::Result::Ok(Foreseen { refused, seen: median(&seen), seen_most })
    })?;
    drop(pinned);
    running.stop()?;
    Ok(Some(foreseen))
}

async fn refusals(sidecar: u16, count: usize) -> io::Result<f64> {
    let call = chat("anything", false);
    let mut sidecar = Connection::open(sidecar).await?;
    let mut times = Vec::new();
    for turn in 0..count + WARM {
        let began = Instant::now();
        sidecar.exchange(&call).await?;
        let micros = began.elapsed().as_secs_f64() * 1e6;
        let answer = sidecar.received();
        if !answer.starts_with(b"HTTP/1.1 503 ") || !answer.windows(13).any(|part| part == b"MODEL_LOADING") {
            let answer = String::from_utf8_lossy(answer);
            return Err(io::Error::other(format!("a call was not refused from the state:\n{answer}")));
        }
        times.extend((turn >= WARM).then_some(micros));
    }
    Ok(median(&times))
}

/// The other side of the sidecar's subscription.
struct Shim {
    streams: UnboundedReceiver<TcpStream>,
    stream: Option<TcpStream>,
    told: UnboundedReceiver<(u64, Instant)>,
    seq: u64,
}

impl Shim {
    fn new(listener: TcpListener) -> Self {
        let (new_stream, streams) = unbounded_channel();
        let (tell, told) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A peer that hangs up in the middle is its own business.
                tokio::spawn(converse(stream, new_stream.clone(), tell.clone()));
            }
        });
        Self { streams, stream: None, told, seq: 0 }
    }

    /// Pushes a snapshot; microseconds until the sidecar says that it acts on it.
    async fn tell(&mut self, state: &str) -> io::Result<f64> {
        let gone = || io::Error::other("the sidecar does not follow the shim");
        if self.stream.is_none() {
            self.stream = self.streams.recv().await;
        }
        self.seq += 1;
        let event =
            format!("data: {{\"seq\":{},\"preset\":\"sie\",\"engine\":{{\"state\":\"{state}\"}}}}\n\n", self.seq);
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        self.stream.as_mut().ok_or_else(gone)?.write_all(chunk.as_bytes()).await?;
        let written = Instant::now();
        loop {
            let (seq, at) = self.told.recv().await.ok_or_else(gone)?;
            if seq == self.seq {
                return Ok(at.saturating_duration_since(written).as_secs_f64() * 1e6);
            }
        }
    }
}

async fn converse(
    mut stream: TcpStream,
    streams: UnboundedSender<TcpStream>,
    tell: UnboundedSender<(u64, Instant)>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    let head = loop {
        if let Some(head) = head_end(&request)
            && request.len() >= head + content_length(&request[..head]).unwrap_or(0)
        {
            break head;
        }
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    };
    if request.starts_with(b"GET /state/stream") {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .await?;
        // Nobody takes it when the measurement is over.
        let _ = streams.send(stream);
        return Ok(());
    }
    let report: serde_json::Value = serde_json::from_slice(&request[head..]).unwrap_or_default();
    if let Some(seq) = report["seq"].as_u64() {
        let _ = tell.send((seq, Instant::now()));
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await
}
