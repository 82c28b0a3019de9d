//! How often is it news how far a load has come?

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::output::Output;

/// Between two pieces of news: a bar may be drawn a thousand times a second.
const PACE: Duration = Duration::from_millis(250);

/// What the engine's own log says of that.
pub(super) struct Progress {
    output: Arc<Output>,
    changes: watch::Receiver<u64>,
    next: Instant,
}

impl Progress {
    pub(super) fn of(output: Arc<Output>) -> Self {
        Self { changes: output.changed(), output, next: Instant::now() }
    }

    /// The newest line, when it is another and not too soon. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<String> {
        sleep_until(self.next).await;
        self.changes.changed().await.expect("what tells of it is in `output`, which is held");
        self.next = Instant::now() + PACE;
        self.output.progress()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn four_are_told_in_a_second_and_the_last_one_is() {
        let output = Output::new(&["%"]);
        let mut progress = Progress::of(output.clone());
        let start = Instant::now();
        let mut told = Vec::new();
        for percent in 0..=90 {
            output.write(format!("{percent} %\n").as_bytes());
            let news = tokio::time::timeout(Duration::from_millis(10), progress.next()).await;
            told.extend(news.ok().flatten());
        }
        assert_eq!(told.first().map(String::as_str), Some("0 %"));
        assert_eq!(told.len(), 4, "{told:?}");
        assert_eq!(progress.next().await.as_deref(), Some("90 %"));
        assert!(start.elapsed() >= 4 * PACE, "{:?}", start.elapsed());
    }
}
