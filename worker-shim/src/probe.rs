//! What does one look at the engine show? Facts only: what they mean is the machine's to say.

use crate::client::{Answer, Client, NoAnswer};
use spillway_filters::presets::{Flag, Method, ModelList, Queue, Watch};
use spillway_filters::sighting::{self, Model};
use std::time::Duration;

/// How long each question of a look may take.
const LIMIT: Duration = Duration::from_secs(2);

/// For how many looks a path is left alone that a well engine does not have: its option is off, and each question would be a line in its log.
const REST: u32 = 60;

/// What one look showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Whether it answers.
    pub reach: Reach,
    /// Its models; none: it did not tell.
    pub models: Option<Vec<Model>>,
    /// Requests that it runs; none: it did not tell.
    pub running: Option<u64>,
    /// Requests that wait in it; none: it did not tell.
    pub waiting: Option<u64>,
    /// It was asked for these two and did not tell, or with an error: it may be too busy to.
    pub busy: bool,
    /// Whether it sleeps; none: it did not tell.
    pub asleep: Option<bool>,
}

impl Sighting {
    /// What a look shows that got no further than this.
    #[must_use]
    pub const fn only(reach: Reach) -> Self {
        Self { reach, models: None, running: None, waiting: None, busy: false, asleep: None }
    }
}

/// What came of the question whether it is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nobody listens.
    Refused,
    /// No answer in time, or none that is one.
    Silent,
    /// The status of its health path. Without such a path, a connection that is accepted counts as 200.
    Answered(u16),
}

/// Looks at one engine, again and again.
#[derive(Debug)]
pub struct Prober {
    client: Client,
    watch: &'static Watch,
    limit: Duration,
    queue: Rest,
    asleep: Rest,
}

impl Prober {
    /// A prober that has not looked yet.
    #[must_use]
    pub const fn new(client: Client, watch: &'static Watch) -> Self {
        Self { client, watch, limit: LIMIT, queue: Rest(0), asleep: Rest(0) }
    }

    /// One look. What cannot be read is none, and spoils nothing else. A look that is dropped leaves nothing behind. `queue`: what it has to
    /// do is asked too.
    pub async fn look(&mut self, queue: bool) -> Sighting {
        let reach = self.reach().await;
        let Reach::Answered(status) = reach else { return Sighting::only(reach) };
        let well = is_success(status);
        let queue = self.watch.queue.as_ref().filter(|_| queue && self.queue.is_over());
        let asleep = self.watch.asleep.as_ref().filter(|_| self.asleep.is_over());
        let (models, queued, sleeping) = tokio::join!(
            self.models(self.watch.models.as_ref()),
            self.get(queue.map(|queue| queue.path)),
            self.get(asleep.map(|flag| flag.path)),
        );
        self.queue.turn(well && queued.is_off());
        self.asleep.turn(well && sleeping.is_off());
        let busy = queue.is_some() && queued.body().is_none() && !queued.is_off();
        let (running, waiting) = queue.map_or((None, None), |queue| queued.counts(queue));
        Sighting { reach, models, running, waiting, busy, asleep: asleep.and_then(|flag| sleeping.flag(flag)) }
    }

    async fn reach(&self) -> Reach {
        let answered = match &self.watch.health {
            Some(health) => self.client.ask(Method::Get, health.path, "", self.limit).await.map(|answer| answer.status),
            None => self.client.reach(self.limit).await.map(|()| 200),
        };
        match answered {
            Ok(status) => Reach::Answered(status),
            Err(NoAnswer::Refused) => Reach::Refused,
            Err(NoAnswer::Silent | NoAnswer::Broken) => Reach::Silent,
        }
    }

    async fn models(&self, list: Option<&ModelList>) -> Option<Vec<Model>> {
        let list = list?;
        let asked = self.client.ask(list.call.method, list.call.path, list.call.body, self.limit).await;
        sighting::models(list, Said(asked.ok()).body()?)
    }

    async fn get(&self, path: Option<&str>) -> Said {
        let Some(path) = path else { return Said(None) };
        Said(self.client.ask(Method::Get, path, "", self.limit).await.ok())
    }
}

/// How many looks more a path is left alone.
#[derive(Debug)]
struct Rest(u32);

impl Rest {
    const fn is_over(&self) -> bool {
        self.0 == 0
    }

    const fn turn(&mut self, off: bool) {
        self.0 = if off { REST } else { self.0.saturating_sub(1) };
    }
}

/// The answer to one question, if there was one.
struct Said(Option<Answer>);

impl Said {
    /// Whether the engine has no such path, has switched it off, or does not tell us.
    fn is_off(&self) -> bool {
        self.0.as_ref().is_some_and(|answer| matches!(answer.status, 401 | 403 | 404 | 405 | 501))
    }

    fn body(&self) -> Option<&[u8]> {
        self.0.as_ref().filter(|answer| is_success(answer.status)).map(|answer| &answer.body[..])
    }

    fn counts(&self, queue: &Queue) -> (Option<u64>, Option<u64>) {
        let count = |names| self.body().and_then(|body| sighting::count(names, body));
        (count(queue.running), count(queue.waiting))
    }

    fn flag(&self, flag: &Flag) -> Option<bool> {
        sighting::flag(flag, self.body()?)
    }
}

const fn is_success(status: u16) -> bool {
    matches!(status, 200..300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Address;
    use spillway_filters::presets::{Health, Listens, Origin};
    use tokio::net::TcpListener;

    static WATCH: Watch = Watch {
        every_ms: 2_000,
        eager_ms: 200,
        listens: Listens::First,
        health: Some(Health { path: "/health", loading: &[], origin: Origin::inferred("a test") }),
        models: None,
        queue: None,
        asleep: None,
    };

    #[tokio::test]
    async fn an_engine_that_never_answers_is_silent_after_the_limit() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = Address::Tcp(listener.local_addr().expect("it is bound").to_string());
        let mut prober = Prober::new(Client::new(address, None), &WATCH);
        prober.limit = Duration::from_millis(20);
        assert_eq!(prober.look(true).await, Sighting::only(Reach::Silent));
    }
}
