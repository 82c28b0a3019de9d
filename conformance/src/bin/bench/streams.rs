//! How much memory does a peer hold, idle and with many idle streams, and does it give it back?

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

use crate::{
    load::{self, Until},
    machine::{pause, resident_kib},
    peers::{Peer, Yard},
    plan::{Plan, WARM_UP},
    scripted::{FIRST_CONTENT, IDLE},
    wire::{Connection, Shape, chat},
};

/// In KiB.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// After a few requests, nothing open.
    pub(crate) idle: f64,
    pub(crate) per_stream: f64,
    /// A few seconds after all streams were closed.
    pub(crate) after: f64,
}

pub(crate) type MemoryByPeer = BTreeMap<Peer, Memory>;

/// How many streams are being opened at any moment.
const OPENING: usize = 50;
const OPEN_TIME: Duration = Duration::from_secs(30);

/// # Errors
/// A stream that does not deliver its first event in time.
pub(crate) fn measure(yard: &Yard, plan: &Plan) -> io::Result<MemoryByPeer> {
    let mut memory = MemoryByPeer::new();
    for peer in yard.present() {
        let running = yard.start(peer, &[])?;
        load::run(running.port, &Shape::Small.request(), 8, Until::Requests(WARM_UP))?;
        pause(Duration::from_secs(1));
        let idle = resident_kib(running.pid())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let open = runtime
            .block_on(open(running.port, plan.streams))
            .map_err(|error| io::Error::other(format!("{}: {} idle streams: {error}", peer.name(), plan.streams)))?;
        pause(Duration::from_secs(1));
        let per_stream = (resident_kib(running.pid())? - idle) / open.len() as f64;
        drop(open);
        drop(runtime);
        pause(plan.settle);
        memory.insert(peer, Memory { idle, per_stream, after: resident_kib(running.pid())? });
        running.stop()?;
    }
    Ok(memory)
}

/// Opens `count` streams and waits for the first event of each.
async fn open(port: u16, count: usize) -> io::Result<Vec<Connection>> {
    let request: Arc<[u8]> = chat(IDLE, true).into();
    let turn = Arc::new(Semaphore::new(OPENING));
    let mut opening = JoinSet::new();
    for _ in 0..count {
        let (request, turn) = (Arc::clone(&request), Arc::clone(&turn));
        opening.spawn(async move {
            let _mine = turn.acquire().await.map_err(io::Error::other)?;
            let mut connection = Connection::open(port).await?;
            connection.send(&request).await?;
            connection.read_until(FIRST_CONTENT).await?;
            io::Result::Ok(connection)
        });
    }
    let all = timeout(OPEN_TIME, opening.join_all()).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
    all.into_iter().collect()
}
