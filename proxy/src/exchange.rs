//! The request path, top to bottom. The file to read first.
//!
//! Local first; an upstream only on a refusal that certainly came before acceptance; nothing twice; nothing else after the first byte.

use crate::client::{Client, Served};
use crate::house::House;
use crate::intake::{self, Intake};
use crate::local::{self, Local, Refused};
use crate::{models, stream_through, upstream, warmup};
use spillway_filters::disclose::Disclosure;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_policies::routing::{Barred, Route};
use spillway_policies::verdict::{Plan, Verdict, decide};

/// One exchange: read, resolve, consent, try local, decide, wake, try upstream, deliver or restore.
pub(crate) async fn serve<'c>(house: &'c House, mut client: Client<'c>) -> Served {
    let call = match intake::read(house, &mut client).await {
        Ok(Intake::Held(call)) => call,
        Ok(Intake::TooLarge(head, upload)) => {
            return Box::pin(stream_through::serve(house, client, head, upload)).await;
        }
        Err(rejection) => return client.reject(rejection).await,
    };
    let route = match call.resolve(&house.routes, house.remote_serving) {
        Ok(route) => route,
        Err(Barred::Forbidden) => return client.refuse(&ErrorAnswer::forbidden_remote()).await,
        Err(Barred::NoSuchProfile) => return client.refuse(&ErrorAnswer::no_such_profile()).await,
        Err(Barred::SwitchedOff) => return client.refuse(&ErrorAnswer::switched_off()).await,
    };
    if let Some(rejection) = call.rejection(&route, house.engine.preset.validates_first) {
        return client.refuse(&rejection).await;
    }
    if call.lists_models && house.routes.iter().next().is_some() {
        return Box::pin(models::serve(house, client, call)).await;
    }

    if let Route::Remote { tasks, remote } = route {
        let Some(surface) = call.surface else { unreachable!("only inference resolves to an upstream") };
        let plan = Plan { remote, tasks, trigger: None, surface };
        return Box::pin(serve_remote(house, client, call, plan)).await;
    }
    let refused = match local::attempt(house, &mut client, &call, &route).await {
        Local::Accepted(answer) => return client.relay(house, answer, call.held).await,
        Local::Refused(refused) => refused,
        Local::Broken(fault) => return client.fault(fault).await,
    };

    client.log.foreseen = refused.foreseen;
    let Some(surface) = call.surface else {
        if refused.foreseen && !call.only_reads {
            warmup::wake_engine(house);
        }
        return client.restore(refused, Disclosure::Local).await;
    };
    let verdict = decide(&route, surface, refused.meaning);
    // A refusal that nobody but we gave has woken nobody, whether it is bridged or not.
    if refused.foreseen || matches!(verdict, Verdict::Bridge(_)) {
        warmup::wake(house, &call.model, &client.connection.request_head);
    }
    match verdict {
        Verdict::Keep(why) => client.keep(refused, why).await,
        Verdict::Bridge(plan) => Box::pin(bridge(house, client, call, refused, plan)).await,
    }
}

/// The cold half of [`serve`]: the engine refused and the refusal may be bridged, once.
async fn bridge(house: &House, mut client: Client<'_>, call: intake::Call, refused: Refused, plan: Plan<'_>) -> Served {
    match upstream::attempt(house, &mut client, call, &plan).await {
        Ok(primed) => client.deliver(primed, plan).await,
        Err(failure) => {
            let disclosure = Disclosure::Restored {
                trigger: refused.meaning.trigger,
                code: failure.code(plan.surface),
                cause: failure.cause,
            };
            client.restore(refused, disclosure).await
        }
    }
}

/// No local side: a remote-only model, or a remote profile named by the caller.
async fn serve_remote(house: &House, mut client: Client<'_>, call: intake::Call, plan: Plan<'_>) -> Served {
    match upstream::attempt(house, &mut client, call, &plan).await {
        Ok(primed) => client.deliver(primed, plan).await,
        Err(failure) => client.remote_failed(&failure, plan).await,
    }
}
