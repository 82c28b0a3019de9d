//! What this process has at the engine, told to the shim, so that nothing is put to sleep or ended under a request.

use super::Shim;
use crate::house::House;
use spillway_filters::feed::{self, Activity, State};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

/// How often activity is told while nothing else happens: the shim counts idle time in whole seconds.
const USUAL: Duration = Duration::from_secs(1);

/// How often while the shim waits for the last request to end.
const LEAVING: Duration = Duration::from_millis(20);

/// Tells the shim for the life of the process.
pub(crate) async fn report(house: Arc<House>) {
    let Some(shim) = &house.shim else { return };
    let mut told = None;
    loop {
        let waits = told.as_ref().is_some_and(|told: &Activity| told.in_flight > 0) && shim.is_leaving();
        let pause = if waits { LEAVING } else { USUAL };
        tokio::select! {
            () = shim.changed.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
        shim.say();
        let Some(activity) = activity(&house, shim) else {
            told = None;
            continue;
        };
        if told.as_ref() != Some(&activity) {
            // A shim that does not take it is told again.
            let taken = tokio::time::timeout(USUAL, shim.tell(&activity)).await;
            told = taken.is_ok_and(|taken| taken).then_some(activity);
        }
    }
}

/// How long the last word may take.
const LAST_WORD: Duration = Duration::from_millis(200);

/// Tells the shim what is left at the end of the process: without that, the shim waits for a name that it has heard requests of.
pub(crate) async fn farewell(house: &House) {
    let Some(shim) = &house.shim else { return };
    let Some(mut activity) = activity(house, shim) else { return };
    if activity.in_flight == 0 {
        // It begins nothing any more, whatever it is told from here on.
        activity.seq = u64::MAX;
    }
    tokio::time::timeout(LAST_WORD, shim.tell(&activity)).await.ok();
}

/// What is in flight, as of the newest snapshot; none: nothing is known.
fn activity(house: &House, shim: &Shim) -> Option<Activity> {
    let seq = shim.known.load().as_ref()?.snapshot.seq;
    // A request is counted before it looks at the state (`Engine::room`): one that saw an older snapshot is counted here.
    fence(Ordering::SeqCst);
    let (in_flight, started) = house.engine.traffic();
    Some(Activity { r#as: shim.name.clone(), seq, in_flight, started })
}

impl Shim {
    /// Whether the shim took it.
    async fn tell(&self, activity: &Activity) -> bool {
        let body = serde_json::to_string(activity).expect("numbers and a name always render as JSON");
        self.ask(feed::paths::ACTIVITY, body).await.is_some_and(|status| status < 300)
    }

    /// Whether the engine or a model of it takes nothing new and may have something left.
    fn is_leaving(&self) -> bool {
        let known = self.known.load();
        known.as_ref().is_some_and(|known| {
            let leaves = |state| matches!(state, State::Asleep | State::Draining);
            leaves(known.snapshot.engine.state)
                || known.snapshot.models.values().any(|condition| leaves(condition.state))
        })
    }
}
