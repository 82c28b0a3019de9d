//! Would the engine hold this call until its model is loaded? Without a shim, the engine's own list of loaded models tells.
//!
//! Only for presets whose engines hold calls (engines section 0 item 1), and only for a call that would be bridged. Whatever goes wrong
//! here, the engine is tried.

use crate::client::Client;
use crate::house::House;
use crate::local::Fault;
use crate::local_state::{self, Asked};
use parking_lot::Mutex;
use spillway_filters::presets::ModelList;
use spillway_filters::sighting;
use spillway_policies::State;
use std::collections::HashMap;

/// Most bytes of a list.
const MOST_BYTES: usize = 1024 * 1024;

/// How long the engine may take for it: a caller waits.
const MOST_MS: u64 = 1_000;

/// What the engine listed, and the tick it was asked at: a list counts for one tick, a quarter of a second (engines 2.8).
#[derive(Default)]
pub(crate) struct Listed(Mutex<Option<(u32, HashMap<String, State>)>>);

impl Listed {
    /// The model's state as of this tick; none: the engine must be asked. While one call asks, the others go by the list before.
    fn known(&self, list: &ModelList, model: &str, tick: u32) -> Option<Option<State>> {
        let mut listed = self.0.lock();
        let (at, states) = listed.as_mut()?;
        let state = states.get(model).copied().or(list.unlisted);
        if *at == tick {
            return Some(state);
        }
        *at = tick;
        None
    }

    fn learn(&self, tick: u32, states: HashMap<String, State>) {
        *self.0.lock() = Some((tick, states));
    }
}

/// The state of a model whose call the engine may hold; none: it is tried. The only fault is that the caller has left.
pub(crate) async fn state(
    house: &House,
    client: &mut Client<'_>,
    list: &ModelList,
    model: &str,
) -> Result<Option<State>, Fault> {
    let tick = house.clock.tick();
    if let Some(known) = house.engine.listed.known(list, model, tick) {
        return Ok(known);
    }
    let (path, body) = (list.call.path_for(model), list.call.body_for(model));
    let asked =
        Asked { method: list.call.method.token(), path: &path, body: &body, most_bytes: MOST_BYTES, most_ms: MOST_MS };
    let answer = local_state::fetch(house, client, &asked).await?;
    let Some(models) = answer.and_then(|answer| sighting::models(list, &answer)) else { return Ok(None) };
    let states: HashMap<_, _> = models.into_iter().map(|model| (model.name, model.state)).collect();
    let state = states.get(model).copied().or(list.unlisted);
    house.engine.listed.learn(tick, states);
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillway_filters::presets::{Call, Method, Origin};

    #[test]
    fn a_list_counts_for_a_tick_and_one_call_renews_it() {
        let call = Call { method: Method::Get, path: "/", body: "", already: None, origin: Origin::CONFIGURED };
        let list = ModelList {
            call,
            list: "",
            names: &[],
            state: "",
            states: &[],
            failed: "",
            unlisted: Some(State::Absent),
            optional_ending: "",
            gates: true,
        };
        let listed = Listed::default();
        assert_eq!(listed.known(&list, "m", 1), None);
        listed.learn(1, HashMap::from([("m".to_owned(), State::Ready)]));
        assert_eq!(listed.known(&list, "m", 1), Some(Some(State::Ready)));
        assert_eq!(listed.known(&list, "other", 1), Some(Some(State::Absent)));
        assert_eq!(listed.known(&list, "m", 2), None);
        assert_eq!(listed.known(&list, "m", 2), Some(Some(State::Ready)));
    }
}
