//! What is asked of the engine beside the loop: looks, calls, and what it is. Each ends as an event.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::config::Config;
use crate::identity;
use crate::probe::Prober;
use crate::state::{Event, Order, Outcome};

/// How many ends of errands wait for the loop.
const AHEAD: usize = 64;

/// Everything that is out.
pub(super) struct Errands {
    config: Arc<Config>,
    client: Client,
    looks: watch::Sender<Look>,
    calls: JoinSet<()>,
    observing: JoinSet<()>,
    ends: mpsc::Sender<Event>,
    ended: mpsc::Receiver<Event>,
}

/// One look that is wanted.
#[derive(Clone, Copy, Default)]
struct Look {
    round: u64,
    queue: bool,
}

impl Errands {
    /// Inside a tokio runtime.
    pub(super) fn new(config: Arc<Config>) -> Self {
        let client = Client::new(config.engine.clone(), config.api_key.clone());
        let (ends, ended) = mpsc::channel(AHEAD);
        let (looks, wanted) = watch::channel(Look::default());
        let prober = Prober::new(client.clone(), &config.preset.watch);
        // It ends with `looks`.
        tokio::spawn(look_on(prober, wanted, ends.clone()));
        Self { config, client, looks, calls: JoinSet::new(), observing: JoinSet::new(), ends, ended }
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// The next end. Cancel-safe.
    pub(super) async fn next(&mut self) -> Event {
        self.ended.recv().await.expect("a sender is held beside the receiver")
    }

    /// Looks once; a look that is still out is given up.
    pub(super) fn look(&self, round: u64, queue: bool) {
        self.looks.send_replace(Look { round, queue });
    }

    pub(super) fn call(&mut self, order: Order) {
        while self.calls.try_join_next().is_some() {}
        let (client, ends) = (self.client.clone(), self.ends.clone());
        self.calls.spawn(async move {
            let outcome = carry_out(&client, &order).await;
            // Without a loop nobody wants to know.
            let _ = ends.send(Event::Called(order.id, outcome)).await;
        });
    }

    /// Gives up all calls.
    pub(super) fn abort(&mut self) {
        self.calls.abort_all();
    }

    /// Observes what the local side is; an observation that is still out is given up.
    pub(super) fn identify(&mut self, life: u64, process: Option<i32>) {
        self.observing.abort_all();
        while self.observing.try_join_next().is_some() {}
        let (config, client, ends) = (self.config.clone(), self.client.clone(), self.ends.clone());
        self.observing.spawn(async move {
            let identity = identity::observe(&config, &client, process).await;
            let _ = ends.send(Event::Identified(life, identity)).await;
        });
    }
}

async fn carry_out(client: &Client, order: &Order) -> Outcome {
    let (path, body) = (order.call.path_for(&order.model), order.call.body_for(&order.model));
    let limit = Duration::from_millis(order.limit_ms);
    let answered = client.ask(order.call.method, &path, &body, limit).await;
    let outcome =
        answered.as_ref().map_or(Outcome::Failed, |answer| Outcome::of(&order.call, answer.status, &answer.body));
    if outcome == Outcome::Done {
        tracing::info!(path, model = order.model, "the engine did what it was asked");
    } else {
        let status = answered.as_ref().ok().map(|answer| answer.status);
        let fault = answered.err().map(tracing::field::debug);
        tracing::warn!(path, model = order.model, status, fault, "the engine did not do what it was asked");
    }
    outcome
}

/// Looks whenever that is wanted, at what was wanted last.
async fn look_on(mut prober: Prober, mut wanted: watch::Receiver<Look>, ends: mpsc::Sender<Event>) {
    let mut more = wanted.changed().await.is_ok();
    while more {
        let Look { round, queue } = *wanted.borrow_and_update();
        tokio::select! {
            sighting = prober.look(queue) => {
                let _ = ends.send(Event::Looked(round, sighting)).await;
                more = wanted.changed().await.is_ok();
            }
            changed = wanted.changed() => more = changed.is_ok(),
        }
    }
}
