//! Would the engine hold this call until its model is loaded? Without a shim, the engine's own list of loaded models tells.
//!
//! Only for presets whose engines hold calls (engines section 0 item 1), and only for a call that would be bridged. Whatever goes wrong
//! here, the engine is tried.

use crate::client::Client;
use crate::house::House;
use crate::local::Fault;
use crate::local_state::{self, Asked, Told};
use parking_lot::Mutex;
use spillway_filters::presets::ModelList;
use spillway_filters::sighting;
use spillway_policies::State;
use std::collections::HashMap;

/// Most bytes of a list.
const MOST_BYTES: usize = 1024 * 1024;

/// How long the engine may take for it: a caller waits.
const MOST_MS: u64 = 1_000;

/// For so many ticks an engine that let a caller wait for a list is not asked again: its list counts until then, and without one every call
/// is tried.
const LEFT_ALONE_TICKS: u32 = 8;

/// An answer that takes so many ticks let its caller wait.
const SLOW_TICKS: u32 = 2;

/// For so many ticks an older list counts while somebody asks for the next one.
const OLD_TICKS: u32 = 4;

/// What a list says of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is on the list.
    Listed(State),
    /// It is not, which means this.
    Unlisted(State),
    /// Nothing is known.
    Unknown,
}

/// What the engine listed. A list counts for the tick it was asked at, a quarter of a second (engines 2.8).
#[derive(Default)]
pub(crate) struct Listed(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    /// When the engine was asked last.
    asked: u32,
    /// The newest list, and when it was asked for.
    newest: Option<(u32, HashMap<String, State>)>,
    /// When it let a caller wait, for that list or in vain.
    waited: Option<u32>,
    /// What was asked for by then is not true any more.
    outdated: Option<u32>,
}

impl Listed {
    /// What is known at this tick; none: this call must ask. While one call asks, the others go by the list before.
    fn known(&self, list: &ModelList, model: &str, tick: u32) -> Option<Look> {
        let mut lists = self.0.lock();
        if lists.waited.is_some_and(|waited| tick.wrapping_sub(waited) < LEFT_ALONE_TICKS) {
            return Some(lists.newest.as_ref().map_or(Look::Unknown, |(_, states)| look(list, states, model)));
        }
        let most_ticks = if lists.asked == tick { OLD_TICKS } else { 0 };
        if let Some((at, states)) = &lists.newest
            && tick.wrapping_sub(*at) <= most_ticks
        {
            return Some(look(list, states, model));
        }
        if lists.asked == tick {
            return Some(Look::Unknown);
        }
        lists.asked = tick;
        None
    }

    /// Nobody was there: the next call may ask at once.
    fn forget(&self) {
        *self.0.lock() = Lists::default();
    }

    /// A model was loaded: what was asked for before does not count any more.
    pub(crate) fn outdate(&self, now: u32) {
        *self.0.lock() = Lists { outdated: Some(now), ..Lists::default() };
    }

    /// Takes in what was asked for at `tick` and came `now`.
    fn learn(&self, tick: u32, now: u32, states: Option<HashMap<String, State>>) {
        let mut lists = self.0.lock();
        // An answer that was overtaken says nothing.
        let overtaken = lists.newest.as_ref().is_some_and(|(at, _)| *at > tick);
        if states.is_some() && (overtaken || lists.outdated.is_some_and(|outdated| tick <= outdated)) {
            return;
        }
        lists.newest = states.map(|states| (tick, states));
        lists.waited = (now.wrapping_sub(tick) >= SLOW_TICKS).then_some(now);
    }
}

fn look(list: &ModelList, states: &HashMap<String, State>, model: &str) -> Look {
    match states.get(model) {
        Some(state) => Look::Listed(*state),
        None => list.unlisted(model).map_or(Look::Unknown, Look::Unlisted),
    }
}

/// What the engine's list says of a model whose call it may hold. The only fault is that the caller has left.
pub(crate) async fn look_up(
    house: &House,
    client: &mut Client<'_>,
    list: &ModelList,
    model: &str,
) -> Result<Look, Fault> {
    let tick = house.clock.tick();
    if let Some(known) = house.engine.listed.known(list, model, tick) {
        return Ok(known);
    }
    let (path, body) = (list.call.path_for(model), list.call.body_for(model));
    let asked =
        Asked { method: list.call.method.token(), path: &path, body: &body, most_bytes: MOST_BYTES, most_ms: MOST_MS };
    let models = match local_state::fetch(house, client, &asked).await? {
        Told::Answer(answer) => sighting::models(list, &answer),
        Told::Nothing => None,
        Told::Nobody => {
            house.engine.listed.forget();
            return Ok(Look::Unknown);
        }
    };
    let states: Option<HashMap<_, _>> =
        models.map(|models| models.into_iter().map(|model| (model.name, model.state)).collect());
    let seen = states.as_ref().map_or(Look::Unknown, |states| look(list, states, model));
    house.engine.listed.learn(tick, house.clock.tick(), states);
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillway_filters::presets::{Call, Method, Origin};

    fn list() -> ModelList {
        let call = Call { method: Method::Get, path: "/", body: "", already: None, origin: Origin::CONFIGURED };
        ModelList {
            call,
            list: "",
            names: &[],
            state: "",
            states: &[],
            failed: "",
            unlisted: Some(State::Absent),
            optional_ending: "",
            never_listed: &[],
            gates: true,
        }
    }

    #[test]
    fn a_list_counts_for_a_tick_and_one_call_renews_it() {
        let list = list();
        let listed = Listed::default();
        let ready = || Some(HashMap::from([("m".to_owned(), State::Ready)]));
        assert_eq!(listed.known(&list, "m", 1), None);
        // Nothing is known yet, and somebody asks already.
        assert_eq!(listed.known(&list, "m", 1), Some(Look::Unknown));
        listed.learn(1, 1, ready());
        assert_eq!(listed.known(&list, "m", 1), Some(Look::Listed(State::Ready)));
        assert_eq!(listed.known(&list, "other", 1), Some(Look::Unlisted(State::Absent)));
        assert_eq!(listed.known(&list, "m", 2), None);
        assert_eq!(listed.known(&list, "m", 2), Some(Look::Listed(State::Ready)));
        // An old list does not count for ever, whoever asks.
        assert_eq!(listed.known(&list, "m", 9), None);
        assert_eq!(listed.known(&list, "m", 9), Some(Look::Unknown));
        listed.learn(9, 9, Some(HashMap::new()));
        listed.learn(2, 9, ready());
        assert_eq!(listed.known(&list, "m", 9), Some(Look::Unlisted(State::Absent)));
    }

    #[test]
    fn an_engine_that_lets_callers_wait_for_its_list_is_left_alone_for_a_while() {
        let list = list();
        let listed = Listed::default();
        assert_eq!(listed.known(&list, "m", 1), None);
        // At once: it costs nothing to ask again.
        listed.learn(1, 1, None);
        assert_eq!(listed.known(&list, "m", 2), None);
        listed.learn(2, 4, None);
        for tick in 4..12 {
            assert_eq!(listed.known(&list, "m", tick), Some(Look::Unknown));
        }
        assert_eq!(listed.known(&list, "m", 12), None);
        // A slow list counts for as long, so that not every caller waits for it.
        listed.learn(12, 15, Some(HashMap::from([("m".to_owned(), State::Ready)])));
        for tick in 15..23 {
            assert_eq!(listed.known(&list, "m", tick), Some(Look::Listed(State::Ready)));
            assert_eq!(listed.known(&list, "other", tick), Some(Look::Unlisted(State::Absent)));
        }
        assert_eq!(listed.known(&list, "m", 23), None);
        // It is fast again.
        listed.learn(23, 24, Some(HashMap::new()));
        assert_eq!(listed.known(&list, "m", 25), None);
        // It was asked before a load was done: that is not kept.
        listed.outdate(26);
        listed.learn(25, 29, Some(HashMap::new()));
        assert_eq!(listed.known(&list, "m", 29), None);
    }
}
