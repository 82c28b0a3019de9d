//! How long does a test wait for something that should happen at once, before it says so loudly?

use std::future::Future;
use std::time::Duration;

use crate::expect::{Finding, Verdict};

/// The safety net under every wait. No rule depends on its length.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for `future`, and fails with `what` in the text when it does not come.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> Verdict<T> {
    tokio::time::timeout(PATIENCE, future)
        .await
        .map_err(|_| Finding::new(format!("waited {} s in vain for {what}", PATIENCE.as_secs())))
}

/// Asks again and again until `question` says yes, for what can only be seen by asking.
pub(crate) async fn eventually<F>(what: &str, mut question: impl FnMut() -> F) -> Verdict
where
    F: Future<Output = Verdict<bool>>,
{
    let asked = async {
        while !question().await? {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    };
    within(what, asked).await?
}
