//! The caller, not yet answered. The only file that writes to callers on the fast lane.
//!
//! Invariant: every exit consumes the client, so a call is answered once, and nothing can fall back after the first byte. Waiting for a
//! side only borrows it.

use crate::connection::Connection;
use crate::held::Held;
use crate::house::House;
use crate::intake::Rejection;
use crate::local::{Answer, Fault, Refused};
use crate::relay;
use crate::telemetry::{Exchange, Side};
use crate::upstream::Primed;
use spillway_filters::disclose::Disclosure;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::wire::request::RequestHead;
use spillway_policies::verdict::{Plan, Why};
use spillway_policies::{Failure, Surface};

/// A caller who waits for the answer to one request.
pub(crate) struct Client<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) log: &'c mut Exchange,
    head: Option<RequestHead>,
    surface: Option<Surface>,
    keep_alive: bool,
    is_head: bool,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// It waits for the next request.
    Keep,
    /// It ends.
    Close,
}

impl<'c> Client<'c> {
    pub(crate) fn new(
        connection: &'c mut Connection,
        log: &'c mut Exchange,
        head: RequestHead,
        surface: Option<Surface>,
        draining: bool,
    ) -> Self {
        let keep_alive = head.keep_alive && !draining;
        let is_head = head.method == spillway_filters::wire::request::Method::Head;
        Self { connection, log, head: Some(head), surface, keep_alive, is_head }
    }

    /// A caller whose request could not be read: it can only be rejected.
    pub(crate) const fn headless(
        connection: &'c mut Connection,
        log: &'c mut Exchange,
        surface: Option<Surface>,
    ) -> Self {
        Self { connection, log, head: None, surface, keep_alive: false, is_head: false }
    }

    /// The head of the request. Taken once, by intake.
    pub(crate) fn take_head(&mut self) -> RequestHead {
        self.head.take().expect("intake reads a request once")
    }

    /// Milliseconds the engine has until its first byte: its own limit within what is left of the budget of both legs.
    pub(crate) fn first_byte_ms(&self, house: &House) -> u64 {
        let left = self.budget_ms(house);
        if house.engine.first_byte_ms == 0 { left } else { left.min(house.engine.first_byte_ms) }
    }

    /// What is left of the budget until the first byte, both legs together; at least one millisecond.
    pub(crate) fn budget_ms(&self, house: &House) -> u64 {
        house.first_byte_budget_ms.saturating_sub(self.log.elapsed_ms()).max(1)
    }

    /// The caller is wrong.
    pub(crate) async fn reject(mut self, rejection: Rejection) -> Served {
        match rejection {
            Rejection::Gone => self.gone(),
            Rejection::Answer { answer, close } => {
                self.keep_alive &= !close;
                self.own(&answer, None).await
            }
        }
    }

    /// The caller may not have what it asked for.
    pub(crate) async fn refuse(self, answer: ErrorAnswer) -> Served {
        self.own(&answer, None).await
    }

    /// The engine broke off, or the caller did.
    pub(crate) async fn fault(self, fault: Fault) -> Served {
        match fault {
            Fault::Gone => self.gone(),
            Fault::Engine(answer) => {
                self.log.served(Side::Local);
                self.own(&answer, Some(Disclosure::Local)).await
            }
        }
    }

    /// Only an upstream serves the model, and it failed.
    pub(crate) async fn remote_failed(self, failure: &Failure, plan: Plan<'_>) -> Served {
        if failure.cause == spillway_policies::Cause::Cancelled {
            return self.gone();
        }
        let upstream = plan.remote.upstream.name.as_str();
        self.log.served(Side::Remote);
        self.log.failed(failure);
        let disclosure = Disclosure::RemoteFailed { upstream, cause: failure.cause };
        self.own(&ErrorAnswer::remote_failed(failure, plan.surface), Some(disclosure)).await
    }

    /// The engine's refusal, which policy keeps.
    pub(crate) async fn keep(self, refused: Refused, why: Why) -> Served {
        self.log.kept(refused.meaning.trigger, why);
        self.restore(refused, Disclosure::Local).await
    }

    /// The engine's refusal as it came: status, header lines and body byte for byte, and who served it.
    pub(crate) async fn restore(mut self, refused: Refused, disclosure: Disclosure<'_>) -> Served {
        if let Disclosure::Restored { trigger, cause, .. } = disclosure {
            if cause == spillway_policies::Cause::Cancelled {
                return self.gone();
            }
            self.log.restored(trigger, cause);
        }
        self.log.served(Side::Local);
        self.keep_alive &= !refused.until_close;
        let Refused { status, mut head, body, .. } = refused;
        disclosure.write(&mut head);
        self.finish(status, head, &body).await
    }

    /// The engine's answer, from its first byte to its last.
    pub(crate) async fn relay(self, house: &House, answer: Answer, held: Held) -> Served {
        let Client { connection, log, keep_alive, .. } = self;
        log.served(Side::Local);
        log.status = answer.head.status;
        relay::local(house, connection, log, answer, held, keep_alive).await
    }

    /// An upstream's answer.
    pub(crate) async fn deliver(self, house: &House, primed: Primed, plan: Plan<'_>) -> Served {
        self.log.served(Side::Remote);
        self.log.bridged(plan.trigger);
        let upstream = plan.remote.upstream.name.as_str();
        let mut head = primed.head();
        Disclosure::Remote { upstream, trigger: plan.trigger }.write(&mut head);
        match primed {
            Primed::Buffered { body, .. } => self.finish(200, head, &body).await,
            Primed::Stream(stream) => {
                self.log.status = 200;
                self.connection_line(&mut head);
                let Client { connection, log, keep_alive, .. } = self;
                Box::pin(stream.run(house, connection, log, head, keep_alive)).await
            }
        }
    }

    /// An answer whose body was collected here.
    pub(crate) async fn collected(self, status: u16, mut head: Vec<u8>, body: &[u8]) -> Served {
        self.log.served(Side::Local);
        Disclosure::Local.write(&mut head);
        self.finish(status, head, body).await
    }

    /// The same client, whose connection ends with this answer.
    pub(crate) const fn closing(mut self) -> Self {
        self.keep_alive = false;
        self
    }

    /// The caller has left: there is nobody to answer.
    pub(crate) fn gone(self) -> Served {
        self.log.client_gone();
        Served::Close
    }

    /// Takes the client apart for the exits that live in files of their own.
    pub(crate) fn into_parts(self) -> (&'c mut Connection, &'c mut Exchange, bool) {
        (self.connection, self.log, self.keep_alive)
    }

    async fn own(self, answer: &ErrorAnswer, disclosure: Option<Disclosure<'_>>) -> Served {
        let body = answer.body(self.surface);
        let mut head = answer.head(body.len());
        if let Some(disclosure) = disclosure {
            disclosure.write(&mut head);
        }
        self.log.code = Some(answer.code);
        self.finish(answer.status, head, &body).await
    }

    fn connection_line(&self, head: &mut Vec<u8>) {
        relay::finish_head(head, self.keep_alive);
    }

    async fn finish(self, status: u16, mut head: Vec<u8>, body: &[u8]) -> Served {
        self.log.status = status;
        self.connection_line(&mut head);
        let body = if self.is_head { &[] } else { body };
        let Connection { stream, deadline, .. } = self.connection;
        deadline.arm(relay::WRITE_MS);
        match Connection::write(stream, deadline, &head, body).await {
            Ok(()) if self.keep_alive => Served::Keep,
            Ok(()) => Served::Close,
            Err(_) => {
                self.log.client_gone();
                Served::Close
            }
        }
    }
}
