//! What is a case, and how are many of them run?

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::expect::{Finding, Verdict};
use crate::report::{Outcome, Report, Row};
use crate::stage::{Bench, Binaries};

/// A running case.
pub type Running = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// One rule of the contract and how it is proven.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The rule as a name; also the file's.
    pub name: &'static str,
    /// The rule as a sentence.
    pub clause: &'static str,
    /// The rows of the fault catalogue that it proves; most have none.
    pub faults: &'static [&'static str],
    /// The proof.
    pub run: fn(Bench) -> Running,
}

/// How many stages stand at the same time.
const AT_ONCE: usize = 4;
/// When a case is given up. Every wait inside has its own, shorter net.
const LIMIT: Duration = Duration::from_secs(90);

/// A named piece of work with what it is about.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) clause: String,
    pub(crate) run: Running,
}

/// Runs cases against the programs, a few at a time. The rows keep the order of `cases`.
pub(crate) async fn run(title: &str, cases: &[Case], binaries: &Binaries) -> Report {
    let bench = Bench::new(binaries);
    let job = |case: &Case| Job {
        name: case.name.to_owned(),
        clause: case.clause.to_owned(),
        run: (case.run)(bench.clone()),
    };
    run_jobs(title, cases.iter().map(job).collect()).await
}

/// Runs jobs a few at a time and reports them in their order.
pub(crate) async fn run_jobs(title: &str, jobs: Vec<Job>) -> Report {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    let mut rows: Vec<Row> = Vec::new();
    for (at, job) in jobs.into_iter().enumerate() {
        let turns = Arc::clone(&turns);
        rows.push(Row::new(job.name, job.clause, Outcome::Failed("it panicked".to_owned())));
        running.spawn(async move {
            // The semaphore is never closed, so a permit always comes.
            let _turn = turns.acquire().await;
            (at, limited(job.run).await)
        });
    }
    while let Some(ended) = running.join_next().await {
        if let Ok((at, verdict)) = ended {
            rows[at].outcome =
                verdict.map_or_else(|finding| Outcome::Failed(finding.to_string()), |()| Outcome::Passed);
        }
    }
    Report::new(title, rows)
}

async fn limited(run: Running) -> Verdict {
    let late = |_| Err(Finding::new(format!("not done after {} s", LIMIT.as_secs())));
    tokio::time::timeout(LIMIT, run).await.unwrap_or_else(late)
}
