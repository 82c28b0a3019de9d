//! How is a peer kept busy? A closed loop: each connection asks again as soon as it is answered.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::wire::Connection;

/// When a load ends.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Requests(u64),
    Time(Duration),
}

/// What came of a load.
#[derive(Default)]
pub(crate) struct Tally {
    /// Microseconds from the first byte sent to the last byte received, one value per answer.
    pub(crate) micros: Vec<f64>,
}

impl Tally {
    pub(crate) fn answers(&self) -> u64 {
        self.micros.len() as u64
    }
}

/// Sends `request` over `connections` connections to `port`. Blocks until done.
///
/// # Errors
/// Any answer that is not a whole 200: a benchmark of failures would measure nothing.
pub(crate) fn run(port: u16, request: &[u8], connections: usize, until: Until) -> io::Result<Tally> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let left = Arc::new(AtomicI64::new(match until {
            Until::Requests(requests) => i64::try_from(requests).unwrap_or(i64::MAX),
            Until::Time(_) => i64::MAX,
        }));
        let request: Arc<[u8]> = request.into();
        let end = match until {
            Until::Requests(_) => None,
            Until::Time(time) => Some(Instant::now() + time),
        };
        let running: Vec<_> =
            (0..connections).map(|_| tokio::spawn(ask(port, Arc::clone(&request), Arc::clone(&left), end))).collect();
        let mut tally = Tally::default();
        for one in running {
            tally.micros.extend(one.await.map_err(io::Error::other)??);
        }
        Ok(tally)
    })
}

async fn ask(port: u16, request: Arc<[u8]>, left: Arc<AtomicI64>, end: Option<Instant>) -> io::Result<Vec<f64>> {
    let mut connection = Connection::open(port).await?;
    let mut micros = Vec::new();
    while left.fetch_sub(1, Ordering::Relaxed) > 0 {
        let began = Instant::now();
        if end.is_some_and(|end| began > end) {
            break;
        }
        if !connection.exchange(&request).await? {
            let head = String::from_utf8_lossy(connection.received());
            return Err(io::Error::other(format!("not a 200: {}", head.lines().next().unwrap_or_default())));
        }
        micros.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(micros)
}
