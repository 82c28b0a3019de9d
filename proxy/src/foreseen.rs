//! Is the engine known not to take this call? Then the refusal that it would give is made here, and the engine is not asked.
//!
//! By the shim, which tells the state of the engine and its models; without one, by the engine's own list of loaded models, where it would
//! hold the call until its model is on it (product section 4 item 4).

use crate::client::Client;
use crate::house::House;
use crate::intake::Call;
use crate::local::{Fault, Refused, made};
use crate::local_models::{self, Look};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::presets::ModelList;
use spillway_policies::routing::Route;
use spillway_policies::{Refusal, State, Surface, Trigger, Verdict, decide};

/// The refusal that the engine would give, as the shim tells its state. What is no inference is refused only by an engine that was promised
/// to be left alone.
pub(crate) fn by_shim(house: &House, call: &Call, route: &Route<'_>) -> Option<Refused> {
    let shim = house.shim.as_ref()?;
    let Some(surface) = call.surface else {
        return shim.foresee_unbridged(None, call.only_reads).map(|seen| foreseen(call, seen.trigger, seen.answer));
    };
    let seen = shim.foresee(Some(&call.model))?;
    if seen.only_if_bridged && !would_bridge(route, surface, seen.trigger) {
        return None;
    }
    Some(foreseen(call, seen.trigger, seen.answer))
}

/// The list of loaded models to ask for: when nobody else knows the engine's state, it would hold a call whose model is not on the list,
/// and that call can be bridged.
pub(crate) fn list(house: &House, call: &Call, route: &Route<'_>) -> Option<&'static ModelList> {
    let list = house.engine.preset.watch.models.as_ref().filter(|list| list.gates)?;
    let known = house.shim.as_ref().is_some_and(|shim| shim.is_live());
    (!known && would_bridge(route, call.surface?, Trigger::ModelLoading)).then_some(list)
}

/// The refusal of an engine that would hold the call; none: it has the model, or does not say, or cannot be asked to load it in another way
/// than by this call.
pub(crate) async fn by_list(
    house: &House,
    client: &mut Client<'_>,
    call: &Call,
    list: &ModelList,
) -> Result<Option<Refused>, Fault> {
    if house.warmup.is_held_back(&call.model, &client.connection.request_head) {
        return Ok(None);
    }
    let loading = match local_models::look_up(house, client, list, &call.model).await? {
        Look::Listed(state) => {
            house.warmup.is_listed(&call.model);
            // An engine that lists without states lists a model as soon as its load has begun; our own load says when it is done.
            let begun = state == State::Ready && list.state.is_empty() && house.warmup.is_loading(&call.model);
            begun || state.model_trigger() == Some(Trigger::ModelLoading)
        }
        Look::Unlisted(state) => {
            state.model_trigger() == Some(Trigger::ModelLoading) && !house.warmup.may_be_an_alias(&call.model)
        }
        Look::Unknown => false,
    };
    Ok(loading.then(|| foreseen(call, Trigger::ModelLoading, ErrorAnswer::model_loading())))
}

/// Whether a refusal of this kind would be bridged.
fn would_bridge(route: &Route<'_>, surface: Surface, trigger: Trigger) -> bool {
    matches!(decide(route, surface, Refusal::certain(trigger)), Verdict::Bridge(_))
}

fn foreseen(call: &Call, trigger: Trigger, answer: ErrorAnswer) -> Refused {
    Refused { foreseen: true, ..made(call, trigger, answer) }
}
