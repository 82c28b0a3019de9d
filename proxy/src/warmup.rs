//! Every bridged call wakes the engine: by the refused request itself, or by the preset's load-only call. One at a time per model.

use crate::engine::Engine;
use crate::house::House;
use bytes::Bytes;
use parking_lot::Mutex;
use pingora_core::connectors::http::Connector;
use pingora_core::protocols::http::client::HttpSession;
use pingora_http::RequestHeader;
use spillway_filters::presets::Wake;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one load-only call may take.
const LOAD_TIME: Duration = Duration::from_secs(600);
/// The first pause after a failed load; it doubles with every failure.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// After this many failures in a row the pause stays at its longest: a load that keeps failing costs the engine more than it helps.
const LATCH_AFTER: u32 = 6;

/// Which models are being loaded, and how often that failed.
#[derive(Clone, Default)]
pub(crate) struct Warmup(Arc<Mutex<HashMap<String, Load>>>);

/// One model's loads.
struct Load {
    running: bool,
    failures: u32,
    not_before: Instant,
}

/// Wakes the engine for `model` in the background, unless that is happening already or has just failed.
pub(crate) fn wake(house: &House, model: &str) {
    let Wake::Call { call: asked, .. } = house.engine.preset.wake else { return };
    // A hostile name could not get here: only configured models are bridged, so the table stays as small as the configuration.
    if !house.warmup.begin(model) {
        return;
    }
    let (warmup, model) = (house.warmup.clone(), model.to_owned());
    let (path, body) = (format!("{}{}", house.engine.path_prefix, asked.path_for(&model)), asked.body_for(&model));
    let engine = house.engine.clone();
    tokio::spawn(async move {
        let call = async {
            let mut session = session(&engine).await?;
            let mut header = RequestHeader::build(asked.method.token(), path.as_bytes(), Some(4)).ok()?;
            header.insert_header("Host", engine.location()).ok()?;
            header.insert_header("Content-Type", "application/json").ok()?;
            header.insert_header("Content-Length", body.len().to_string()).ok()?;
            session.write_request_header(Box::new(header)).await.ok()?;
            session.write_request_body(Bytes::from(body), true).await.ok()?;
            session.read_response_header().await.ok()?;
            let status = session.response_header()?.status.as_u16();
            let answer = session.read_response_body().await.ok().flatten().unwrap_or_default();
            Some(asked.is_done(status, &answer))
        };
        let woken = tokio::time::timeout(LOAD_TIME, call).await.ok().flatten().unwrap_or(false);
        tracing::info!(model, woken, "asked the engine to load a model");
        warmup.end(&model, woken);
    });
}

/// A connection of its own: a load may take minutes.
async fn session(engine: &Engine) -> Option<HttpSession> {
    let connector: Connector = Connector::new(None);
    for peer in engine.peers().await.ok()? {
        if let Ok((session, _)) = connector.get_http_session(&peer).await {
            return Some(session);
        }
    }
    None
}

impl Warmup {
    /// Whether a load may start now; if so, it has.
    fn begin(&self, model: &str) -> bool {
        let now = Instant::now();
        let mut loads = self.0.lock();
        let load = loads.entry(model.to_owned()).or_insert(Load { running: false, failures: 0, not_before: now });
        if load.running || now < load.not_before {
            return false;
        }
        load.running = true;
        true
    }

    fn end(&self, model: &str, woken: bool) {
        let mut loads = self.0.lock();
        if woken {
            loads.remove(model);
        } else if let Some(load) = loads.get_mut(model) {
            load.running = false;
            load.failures = (load.failures + 1).min(LATCH_AFTER);
            load.not_before = Instant::now() + FIRST_PAUSE * 2_u32.pow(load.failures - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_load_at_a_time_and_a_pause_after_a_failure() {
        let warmup = Warmup::default();
        assert!(warmup.begin("m"));
        assert!(!warmup.begin("m"));
        assert!(warmup.begin("other"));
        warmup.end("m", false);
        assert!(!warmup.begin("m"));
        warmup.end("other", true);
        assert!(warmup.begin("other"));
    }
}
