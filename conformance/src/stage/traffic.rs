//! Callers of a stage whose calls must each be served once, by one side or the other.

use super::Stage;
use super::client::{Client, Received, Request};
use super::director::Director;
use super::patience::{eventually, within};
use super::sample::chat_body;
use crate::expect::{Finding, Verdict, same};

/// Who served a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// The engine.
    Local,
    /// The upstream, because of this trigger.
    Remote(String),
}

/// The calls of one stage, counted.
#[derive(Debug)]
pub struct Traffic<'s> {
    stage: &'s Stage,
    local: usize,
    remote: usize,
}

impl<'s> Traffic<'s> {
    /// No calls yet.
    pub fn new(stage: &'s Stage) -> Self {
        Self { stage, local: 0, remote: 0 }
    }

    /// One call, which must succeed.
    ///
    /// # Errors
    /// A finding when it does not, or when it does not say who served it.
    pub async fn ask(&mut self, request: &Request) -> Verdict<Served> {
        let answer = self.stage.ask(request).await?;
        answer.is(200)?;
        if let Some(reason) = answer.head.field("X-SIE-Fallback-Reason") {
            answer.remote("hosted", Some(&reason))?;
            self.remote += 1;
            return Ok(Served::Remote(reason));
        }
        answer.local()?;
        self.local += 1;
        Ok(Served::Local)
    }

    /// One call, which must be bridged for this reason.
    ///
    /// # Errors
    /// A finding when it is not.
    pub async fn bridged(&mut self, request: &Request, reason: &str) -> Verdict {
        same("served", &self.ask(request).await?, &Served::Remote(reason.to_owned()))
    }

    /// One call, which must be served here.
    ///
    /// # Errors
    /// A finding when it is not.
    pub async fn local(&mut self, request: &Request) -> Verdict {
        same("served", &self.ask(request).await?, &Served::Local)
    }

    /// Begins a stream that the engine pauses after its first word, and reads it up to there.
    ///
    /// # Errors
    /// A finding when it does not begin here.
    pub async fn slow_stream(&mut self, model: &str) -> Verdict<Client> {
        let mut body = chat_body(model);
        body["stream"] = true.into();
        body["messages"][0]["content"] = "slowly".into();
        let mut client = self.stage.client().await?;
        client.send(Request::post("/v1/chat/completions", &body.to_string()).bytes()).await?;
        let head = client.head().await?;
        same("status and side", &(head.status(), head.field("X-SIE-Served-By")), &(200, Some("local".to_owned())))?;
        self.local += 1;
        while let Some(event) = client.event().await? {
            if event.contains("\"local\"") {
                return Ok(client);
            }
        }
        Err(Finding::new("the stream ended before its first word"))
    }

    /// Calls until one is refused, which is executed nowhere. Those before it must succeed.
    ///
    /// # Errors
    /// A finding when none is, or one fails otherwise.
    pub async fn until_refused(&mut self, request: &Request) -> Verdict<Received> {
        let (stage, local) = (self.stage, &mut self.local);
        let asked = async {
            loop {
                let answer = stage.ask(request).await?;
                if answer.head.status() != 200 {
                    return Ok(answer);
                }
                answer.local()?;
                *local += 1;
            }
        };
        within("a call to be refused", asked).await?
    }

    /// Calls until one is served like this. Each of them must succeed.
    ///
    /// # Errors
    /// A finding when none is, or one fails.
    pub async fn until(&mut self, request: &Request, wanted: &Served) -> Verdict {
        let traffic = tokio::sync::Mutex::new(self);
        let asked = || async { Ok(traffic.lock().await.ask(request).await? == *wanted) };
        eventually(&format!("a call to be served {wanted:?}"), asked).await
    }

    /// Every call was executed once, where it was served.
    ///
    /// # Errors
    /// A finding when a side executed more or fewer.
    pub async fn each_once(&self, director: &Director) -> Verdict {
        director.executed(self.local).await?;
        self.stage.upstream.journal().expect_calls("upstream", self.remote)
    }
}
