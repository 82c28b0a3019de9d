//! The caller, not yet answered. The only file that decides what callers get on the fast lane.
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
use spillway_filters::disclose::{self, Disclosure};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::wire::request::RequestHead;
use spillway_policies::verdict::{Plan, Why};
use spillway_policies::{Cause, Failure, Surface};
use std::pin::Pin;
use std::time::Instant;

/// A caller who waits for the answer to one request.
pub(crate) struct Client<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) log: &'c mut Exchange,
    head: Option<RequestHead>,
    surface: Option<Surface>,
    keep_alive: bool,
    is_head: bool,
    /// When the request was whole: the sides' time begins here, not the caller's own.
    whole_at: Instant,
}

/// An exit that is not on the hot path: boxed, so that its state is not part of every connection's task.
pub(crate) type Exit<'c> = Pin<Box<dyn Future<Output = Served> + Send + 'c>>;

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
        retired: bool,
    ) -> Self {
        let keep_alive = head.keep_alive && !retired;
        let is_head = head.method == spillway_filters::wire::request::Method::Head;
        let whole_at = log.started;
        Self { connection, log, head: Some(head), surface, keep_alive, is_head, whole_at }
    }

    /// A caller whose request could not be read: it can only be rejected.
    pub(crate) const fn headless(
        connection: &'c mut Connection,
        log: &'c mut Exchange,
        surface: Option<Surface>,
    ) -> Self {
        let whole_at = log.started;
        Self { connection, log, head: None, surface, keep_alive: false, is_head: false, whole_at }
    }

    /// The surface that the request names.
    pub(crate) const fn surface(&self) -> Option<Surface> {
        self.surface
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
        let spent = u64::try_from(self.whole_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        house.first_byte_budget_ms.saturating_sub(spent).max(1)
    }

    /// The whole request is here.
    pub(crate) fn whole(&mut self) {
        self.whole_at = Instant::now();
    }

    /// The caller is wrong.
    pub(crate) fn reject(mut self, rejection: Rejection) -> Exit<'c> {
        match rejection {
            Rejection::Gone => self.gone(),
            Rejection::Answer { answer, close } => {
                self.keep_alive &= !close;
                self.own(&answer, None)
            }
            Rejection::Full => {
                self.log.served(Side::Local);
                self.closing().own(&ErrorAnswer::queue_full(), Some(Disclosure::Local))
            }
        }
    }

    /// The caller may not have what it asked for.
    pub(crate) fn refuse(self, answer: &ErrorAnswer) -> Exit<'c> {
        self.own(answer, None)
    }

    /// The engine broke off, or the caller did.
    pub(crate) fn fault(self, fault: Fault) -> Exit<'c> {
        match fault {
            Fault::Gone => self.gone(),
            Fault::Engine(answer) => {
                self.log.served(Side::Local);
                self.own(&answer, Some(Disclosure::Local))
            }
        }
    }

    /// Only an upstream serves the model, and it failed.
    pub(crate) fn remote_failed(self, failure: &Failure, plan: Plan<'_>) -> Exit<'c> {
        if failure.cause == Cause::Cancelled {
            return self.gone();
        }
        let upstream = plan.remote.upstream.name.as_str();
        self.log.served(Side::Remote);
        self.log.failed(failure);
        let disclosure = Disclosure::RemoteFailed { upstream, cause: failure.cause };
        self.own(&ErrorAnswer::remote_failed(failure, plan.surface), Some(disclosure))
    }

    /// The engine's refusal, which policy keeps.
    pub(crate) fn keep(self, refused: Refused, why: Why) -> Exit<'c> {
        self.log.kept(refused.meaning.trigger, why);
        self.restore(refused, Disclosure::Local)
    }

    /// The engine's refusal as it came: status, header lines and body byte for byte, and who served it.
    pub(crate) fn restore(mut self, refused: Refused, disclosure: Disclosure<'_>) -> Exit<'c> {
        if let Disclosure::Restored { trigger, cause, .. } = disclosure {
            if cause == Cause::Cancelled {
                return self.gone();
            }
            self.log.restored(trigger, cause);
        }
        self.log.served(Side::Local);
        self.keep_alive &= !refused.until_close;
        let Refused { status, mut head, body, .. } = refused;
        disclosure.write(&mut head);
        self.finish(status, head, body)
    }

    /// The engine's answer, from its first byte to its last. The one exit on the hot path.
    pub(crate) fn relay(self, house: &'c House, answer: Answer, held: Held) -> impl Future<Output = Served> + 'c {
        let Client { connection, log, surface, keep_alive, .. } = self;
        log.served(Side::Local);
        log.status = answer.head.status;
        relay::local(house, connection, log, answer, held, (surface, keep_alive))
    }

    /// An upstream's answer.
    pub(crate) fn deliver(self, primed: Primed, plan: Plan<'_>) -> Exit<'c> {
        self.log.served(Side::Remote);
        self.log.bridged(plan.trigger);
        let upstream = plan.remote.upstream.name.as_str();
        let mut head = primed.head();
        date(&mut head);
        Disclosure::Remote { upstream, trigger: plan.trigger }.write(&mut head);
        match primed {
            Primed::Buffered(answer) => self.finish(200, head, answer.body),
            Primed::Stream(stream) => {
                self.log.status = 200;
                let Client { connection, log, keep_alive, .. } = self;
                relay::finish_head(&mut head, keep_alive);
                Box::pin(stream.run(connection, log, head, keep_alive))
            }
        }
    }

    /// A local answer whose body was read to its end here.
    pub(crate) fn collected(self, status: u16, mut head: Vec<u8>, body: Vec<u8>) -> Exit<'c> {
        self.log.served(Side::Local);
        Disclosure::Local.write(&mut head);
        self.finish(status, head, body)
    }

    /// The same client, whose connection ends with this answer.
    pub(crate) const fn closing(mut self) -> Self {
        self.keep_alive = false;
        self
    }

    /// The same client, whose connection goes on after all, unless the caller wanted it closed.
    pub(crate) const fn going_on(mut self, wanted: bool) -> Self {
        self.keep_alive = wanted;
        self
    }

    /// Whether the caller wants the connection to go on.
    pub(crate) const fn wants_more(&self) -> bool {
        self.keep_alive
    }

    /// The caller has left: there is nobody to answer.
    fn gone(self) -> Exit<'c> {
        self.log.client_gone();
        Box::pin(std::future::ready(Served::Close))
    }

    /// Takes the client apart for the tunnel, whose answer is the connection itself.
    pub(crate) fn into_parts(self) -> (&'c mut Connection, &'c mut Exchange) {
        (self.connection, self.log)
    }

    fn own(self, answer: &ErrorAnswer, disclosure: Option<Disclosure<'_>>) -> Exit<'c> {
        let body = answer.body(self.surface);
        let mut head = answer.head(body.len());
        date(&mut head);
        if let Some(disclosure) = disclosure {
            disclosure.write(&mut head);
        }
        self.log.code = Some(answer.code);
        self.finish(answer.status, head, body)
    }

    fn finish(self, status: u16, mut head: Vec<u8>, body: Vec<u8>) -> Exit<'c> {
        let Client { connection, log, keep_alive, is_head, .. } = self;
        log.status = status;
        relay::finish_head(&mut head, keep_alive);
        Box::pin(async move {
            let body = if is_head { &[] } else { &body[..] };
            let Connection { stream, deadline, .. } = connection;
            deadline.arm(relay::WRITE_MS);
            match Connection::write(stream, deadline, &head, body).await {
                Ok(()) if keep_alive => Served::Keep,
                Ok(()) => Served::Close,
                Err(_) => {
                    log.client_gone();
                    Served::Close
                }
            }
        })
    }
}

/// The Date of an answer that is ours. A relayed or restored one keeps the engine's.
pub(crate) fn date(head: &mut Vec<u8>) {
    disclose::line(head, "Date", &httpdate::fmt_http_date(std::time::SystemTime::now()));
}
