//! The subscription: a stream of snapshots, opened again whenever it ends.

use super::Shim;
use crate::config::Address;
use crate::control::{self, Question};
use crate::house::House;
use pingora_core::protocols::http::client::HttpSession;
use spillway_filters::event_stream::EventStream;
use spillway_filters::feed;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};

/// The first pause after a stream that ended at once; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long the shim may take to begin its stream.
const BEGIN: Duration = Duration::from_secs(5);

/// Follows the shim for the life of the process.
pub(crate) async fn follow(house: Arc<House>) {
    let Some(shim) = &house.shim else { return };
    let mut pause = FIRST_PAUSE;
    // Said once for each time that it is away, and not for a shim that is about to come.
    let mut complained = false;
    loop {
        let heard = match open(shim).await {
            Some(session) => listen(shim, session).await,
            None => Heard::Nothing,
        };
        shim.lost();
        match heard {
            Heard::Snapshots => (pause, complained) = (FIRST_PAUSE, false),
            Heard::Strange if !complained => {
                complained = true;
                tracing::warn!(shim = %shim.address, "the shim says what this version does not understand: use the same version of both");
            }
            Heard::Nothing if !complained && pause == LONGEST_PAUSE => {
                complained = true;
                let reason = shim.unreached().await;
                tracing::warn!(shim = %shim.address, reason, "the shim cannot be asked: the engine is tried each time");
            }
            Heard::Strange | Heard::Nothing => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

impl Shim {
    /// Why it cannot be asked.
    async fn unreached(&self) -> String {
        let reached = match &self.address {
            Address::Unix(path) => UnixStream::connect(path).await.map(drop),
            Address::Tcp(address) => TcpStream::connect(address).await.map(drop),
        };
        let Err(error) = reached else { return "what listens there does not answer as a shim does".to_owned() };
        match error.kind() {
            ErrorKind::PermissionDenied => format!(
                "{error}: run both as one user, or the shim with --socket-mode 660 and a group that both are in"
            ),
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                format!("{error}: start spillway-shim, or mend engine.shim")
            }
            _ => error.to_string(),
        }
    }
}

async fn open(shim: &Shim) -> Option<HttpSession> {
    let path = format!("{}?as={}", feed::paths::STREAM, shim.name);
    let question = Question { method: "GET", path: &path, body: String::new(), host: &shim.address };
    let peers = shim.peers()?;
    let session = tokio::time::timeout(BEGIN, control::send(&peers, question)).await.ok()??;
    (session.response_header()?.status == 200).then_some(session)
}

/// What came of one subscription.
enum Heard {
    Snapshots,
    /// It ended with something that is no snapshot.
    Strange,
    Nothing,
}

/// Takes in snapshots until the stream ends, falls silent or makes no sense.
async fn listen(shim: &Shim, mut session: HttpSession) -> Heard {
    let mut events = EventStream::new(feed::MAX_SNAPSHOT_BYTES);
    let mut heard = Heard::Nothing;
    let silence = Duration::from_millis(feed::STALE_MS);
    while let Ok(Ok(Some(piece))) = tokio::time::timeout(silence, session.read_response_body()).await {
        events.feed(&piece);
        // Only the newest of those that came together counts.
        let mut newest = None;
        loop {
            match events.next_event() {
                Ok(None) => break,
                Ok(Some(event)) => newest = Some(event.data),
                Err(_) => return Heard::Strange,
            }
        }
        let Some(data) = newest else { continue };
        let Ok(snapshot) = serde_json::from_slice(&data) else { return Heard::Strange };
        heard = Heard::Snapshots;
        shim.learned(snapshot);
    }
    heard
}
