//! How is every change told to one reader, at once and without holding anybody else?

use super::Told;
use crate::asked::Asked;
use bytes::Bytes;
use hyper::body::{Body, Frame};
use spillway_filters::feed::{HEARTBEAT_MS, Snapshot};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

const HEARTBEAT: Duration = Duration::from_millis(HEARTBEAT_MS);

/// A comment: the stream lives.
const ALIVE: &[u8] = b":\n\n";

/// A stream of snapshots, the current one first. A reader that is slower than the changes is given the newest and misses those between.
pub(super) struct Feed {
    next: Pin<Box<dyn Future<Output = (Option<Bytes>, Changes)> + Send>>,
    /// Told when the reader goes, in whatever way.
    _subscription: Option<Subscription>,
    _place: OwnedSemaphorePermit,
}

type Changes = watch::Receiver<Arc<Told>>;

impl Feed {
    pub(super) fn new(mut changes: Changes, subscription: Option<Subscription>, place: OwnedSemaphorePermit) -> Self {
        // The first event is the current state, whether or not it changes.
        changes.mark_changed();
        Self { next: Box::pin(next(changes)), _subscription: subscription, _place: place }
    }
}

impl Body for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let (event, changes) = ready!(self.next.as_mut().poll(context));
        self.next = Box::pin(next(changes));
        Poll::Ready(event.map(|event| Ok(Frame::data(event))))
    }
}

/// What is sent next; none: there will be no more changes.
async fn next(mut changes: Changes) -> (Option<Bytes>, Changes) {
    let event = match tokio::time::timeout(HEARTBEAT, changes.changed()).await {
        Ok(Ok(())) => Some(event(&changes.borrow_and_update().clone().now())),
        Ok(Err(_)) => None,
        Err(_) => Some(Bytes::from_static(ALIVE)),
    };
    (event, changes)
}

fn event(snapshot: &Snapshot) -> Bytes {
    let mut text = b"data: ".to_vec();
    text.extend_from_slice(&super::answer::rendered(snapshot));
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// A named reader. The loop is told when it comes and when it goes.
pub(super) struct Subscription {
    name: String,
    asked: mpsc::Sender<Asked>,
}

impl Subscription {
    /// Tells the loop that it has come; none: the loop is gone.
    pub(super) async fn begin(name: String, asked: mpsc::Sender<Asked>) -> Option<Self> {
        asked.send(Asked::Subscribed(name.clone())).await.ok()?;
        Some(Self { name, asked })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let left = Asked::Left(std::mem::take(&mut self.name));
        let Err(mpsc::error::TrySendError::Full(left)) = self.asked.try_send(left) else { return };
        // The loop is behind. It will be told; without a runtime there is no loop.
        if let Ok(runtime) = Handle::try_current() {
            let asked = self.asked.clone();
            runtime.spawn(async move { asked.send(left).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_goes_while_the_loop_is_behind_is_told_of_later() {
        let (asked, mut told) = mpsc::channel(1);
        let subscription = Subscription::begin("a".into(), asked).await.expect("the loop is there");
        // The one place is taken.
        drop(subscription);
        assert!(matches!(told.recv().await, Some(Asked::Subscribed(name)) if name == "a"));
        assert!(matches!(told.recv().await, Some(Asked::Left(name)) if name == "a"));
        assert!(told.recv().await.is_none());
    }
}
