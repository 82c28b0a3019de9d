//! The models of an engine that serves several, and the loads that somebody wants.

use crate::engines::{BY_REFUSAL, PLAIN, ROUTER, SEVERAL, SLEEPER};
use crate::rig::{Rig, Step, listing, load, queue, reach, setup, status};
use Step::{After, Called, On, See};
use spillway_filters::feed::{MAX_SNAPSHOT_BYTES, State};
use spillway_filters::presets::{Already, Call, Method, Origin};
use spillway_shim::probe::{Reach, Sighting};
use spillway_shim::state::{Event, Outcome};

const DONE: Step = Called(Outcome::Done);
const FAILED: Step = Called(Outcome::Failed);

fn sees(state: State) -> Step {
    See(listing(&[("m", state)]))
}

#[test]
fn a_model_is_what_the_engine_lists() {
    let table = [
        (State::Absent, "absent"),
        (State::Loading, "loading"),
        (State::Ready, "ready"),
        (State::Asleep, "asleep"),
        (State::Unhealthy, "unhealthy load_failed"),
    ];
    for (state, said) in table {
        let rig = Rig::up(setup(&ROUTER), listing(&[("m", state)]));
        assert_eq!((rig.model("m").as_str(), rig.model("other").as_str()), (said, "-"));
    }
}

#[test]
fn what_is_not_listed_is_said_only_of_a_list_that_gates_and_was_read() {
    let unlisted = |rig: &Rig| {
        let snapshot = rig.machine.snapshot(rig.now);
        (snapshot.gates, snapshot.unlisted)
    };
    let mut rig = Rig::up(setup(&SEVERAL), status(200));
    assert_eq!(unlisted(&rig), (true, None), "not told yet");
    rig.see(listing(&[]));
    assert_eq!(unlisted(&rig), (true, Some(State::Absent)));
    for _ in 0..5 {
        assert_eq!(unlisted(&rig), (true, Some(State::Absent)));
        rig.see(status(200));
    }
    assert_eq!(unlisted(&rig), (true, None), "not told for long");
    assert_eq!(unlisted(&Rig::up(setup(&ROUTER), listing(&[]))), (true, None));
    assert_eq!(unlisted(&Rig::up(setup(&BY_REFUSAL), listing(&[]))), (false, None));
    assert_eq!(unlisted(&Rig::up(setup(&PLAIN), status(200))), (false, None));
}

#[test]
fn a_load_call_is_made_once_and_is_over_when_the_list_says_so() {
    Rig::up(setup(&SEVERAL), listing(&[])).walk_model(
        "m",
        &[
            (load("m"), "loading", "/load m, begun"),
            (load("m"), "loading", "begun"),
            (After(10_000), "loading", ""),
            (load("n"), "loading", "/load n, begun"),
            (DONE, "loading", ""),
            (sees(State::Ready), "ready", ""),
            (load("m"), "ready", "done"),
            (See(listing(&[])), "-", ""),
            (load("m"), "loading in 10200", "/load m, begun"),
            (After(10_000), "loading in 200", ""),
            (After(10_000), "loading in 0", ""),
        ],
    );
}

#[test]
fn a_list_without_states_does_not_end_a_load_whose_call_is_out() {
    Rig::up(setup(&SEVERAL), listing(&[])).walk_model(
        "m",
        &[
            (load("m"), "loading", "/load m, begun"),
            // Ollama lists a model as soon as its load has begun.
            (sees(State::Ready), "loading", ""),
            (load("m"), "loading", "begun"),
            (DONE, "ready", ""),
        ],
    );
    Rig::up(setup(&ROUTER), listing(&[("m", State::Absent)]))
        .walk_model("m", &[(load("m"), "loading", "/load m, begun"), (sees(State::Ready), "ready", "")]);
}

#[test]
fn a_model_that_was_loaded_and_is_never_listed_has_another_name_there() {
    let mut rig = Rig::up(setup(&SEVERAL), listing(&[("real", State::Ready)]));
    let other = || See(listing(&[("real", State::Ready)]));
    rig.walk_model("alias", &[(load("alias"), "loading", "/load alias, begun"), (DONE, "loading", "")]);
    for _ in 0..3 {
        rig.walk_model("alias", &[(other(), "loading", "")]);
    }
    rig.walk_model("alias", &[(other(), "ready", ""), (load("alias"), "ready", "done"), (other(), "ready", "")]);
    // What was behind the name may be gone.
    rig.walk_model("alias", &[(See(listing(&[])), "-", "")]);
}

#[test]
fn a_load_that_is_only_begun_by_its_call_is_followed_in_the_list() {
    let begun = || {
        let mut rig = Rig::up(setup(&ROUTER), listing(&[("m", State::Absent)]));
        rig.walk_model("m", &[(load("m"), "loading", "/load m, begun"), (DONE, "loading", "")]);
        rig
    };
    begun().walk_model(
        "m",
        &[(sees(State::Loading), "loading", ""), (After(60_000), "loading", ""), (sees(State::Ready), "ready", "")],
    );
    // It stopped loading without being ready.
    begun().walk_model(
        "m",
        &[
            (sees(State::Loading), "loading", ""),
            (sees(State::Absent), "unhealthy load_failed", ""),
            (load("m"), "unhealthy load_failed", "503 LOAD_FAILED 2"),
            (After(2_000), "unhealthy load_failed", ""),
            (load("m"), "loading", "/load m, begun"),
        ],
    );
    // The list says so itself.
    begun().walk_model("m", &[(sees(State::Unhealthy), "unhealthy load_failed", "")]);
    // The list may be late, but not for ever.
    begun().walk_model(
        "m",
        &[
            (sees(State::Absent), "loading", ""),
            (sees(State::Absent), "loading", ""),
            (sees(State::Absent), "loading", ""),
            (sees(State::Absent), "unhealthy load_failed", ""),
        ],
    );
}

#[test]
fn loads_that_fail_are_left_alone_longer_and_longer() {
    let mut rig = Rig::up(setup(&SEVERAL), listing(&[]));
    for pause in [2_000, 4_000, 8_000, 16_000, 32_000, 600_000, 600_000] {
        let seconds = pause / 1_000;
        rig.walk_model(
            "m",
            &[
                (load("m"), "loading", "/load m, begun"),
                (Called(Outcome::Missing), "unhealthy load_failed", ""),
                (load("m"), "unhealthy load_failed", &format!("503 LOAD_FAILED {seconds}")),
                (After(pause - 1), "unhealthy load_failed", ""),
                (load("m"), "unhealthy load_failed", "503 LOAD_FAILED 1"),
                (After(1), "unhealthy load_failed", ""),
            ],
        );
    }
    // Somebody else's load went well.
    rig.walk_model(
        "m",
        &[
            (sees(State::Ready), "ready", ""),
            (See(listing(&[])), "-", ""),
            (load("m"), "loading", "/load m, begun"),
            (FAILED, "unhealthy load_failed", ""),
            (load("m"), "unhealthy load_failed", "503 LOAD_FAILED 2"),
        ],
    );
}

#[test]
fn a_failure_is_forgotten_ten_minutes_after_its_pause() {
    let mut rig = Rig::up(setup(&SEVERAL), listing(&[]));
    rig.walk_model(
        "mistyped",
        &[
            (load("mistyped"), "loading", "/load mistyped, begun"),
            (Called(Outcome::Missing), "unhealthy load_failed", ""),
            (After(2_000), "unhealthy load_failed", ""),
            (After(599_999), "unhealthy load_failed", ""),
            (After(1), "-", ""),
            (load("mistyped"), "loading", "/load mistyped, begun"),
            (FAILED, "unhealthy load_failed", ""),
            (load("mistyped"), "unhealthy load_failed", "503 LOAD_FAILED 2"),
        ],
    );
}

#[test]
fn what_is_told_has_a_bound() {
    let names: Vec<String> =
        (0..10_000).map(|number| format!("organisation/an-ordinary-name-7b-instruct-q4-{number:05}")).collect();
    let models: Vec<(&str, State)> = names.iter().map(|name| (name.as_str(), State::Unhealthy)).collect();
    let mut rig = Rig::up(setup(&SEVERAL), listing(&[]));
    // Names that nobody lists, as long as they can be.
    for number in 0..300 {
        rig.step(load(&format!("{number:0512}")));
        rig.step(FAILED);
    }
    rig.see(listing(&models));
    let snapshot = rig.machine.snapshot(rig.now);
    assert_eq!(snapshot.models.len(), names.len() + 256);
    let bytes = serde_json::to_vec(&snapshot).expect("it renders").len();
    assert!(bytes < MAX_SNAPSHOT_BYTES / 2, "{bytes}");
}

#[test]
fn the_list_comes_before_the_first_load() {
    Rig::up(setup(&SEVERAL), status(200)).walk_model(
        "m",
        &[(load("m"), "loading", "begun"), (load("m"), "loading", "begun"), (sees(State::Ready), "ready", "")],
    );
    Rig::up(setup(&SEVERAL), status(200))
        .walk_model("m", &[(load("m"), "loading", "begun"), (sees(State::Absent), "loading", "/load m")]);
    // It never tells: nobody is kept waiting for that.
    let mut rig = Rig::up(setup(&SEVERAL), status(200));
    rig.walk_model("m", &[(load("m"), "loading", "begun"), (After(10_000), "unhealthy load_failed", "")]);
}

#[test]
fn an_engine_that_loads_on_requests_only_says_so() {
    Rig::up(setup(&BY_REFUSAL), listing(&[("m", State::Absent), ("l", State::Loading), ("r", State::Ready)])).walk(&[
        (load("m"), "ready", "501 NOT_LOADABLE"),
        (load("unheard"), "ready", "501 NOT_LOADABLE"),
        (load("l"), "ready", "begun"),
        (load("r"), "ready", "done"),
        (load(""), "ready", "done"),
    ]);
    // One model: its name says nothing, and its start was the load.
    Rig::up(setup(&PLAIN), status(200)).walk(&[(load("m"), "ready", "done"), (load(""), "ready", "done")]);
}

#[test]
fn wishes_wait_for_an_engine_that_comes() {
    let mut rig = Rig::new(setup(&SEVERAL));
    rig.walk_model(
        "m",
        &[
            (On(Event::Begun), "-", "spawn"),
            (On(Event::Spawned), "-", ""),
            (load("m"), "loading", "begun"),
            (load("m"), "loading", "begun"),
            (After(5_000), "loading", ""),
            (See(status(200)), "loading", ""),
            (See(listing(&[])), "loading", "/load m"),
        ],
    );
    // A crash under a load may be the load's doing.
    rig.walk_model(
        "m",
        &[
            (On(Event::Ended(139)), "unhealthy load_failed", ""),
            (load("m"), "loading", "begun"),
            (On(Event::Cleared), "loading", ""),
            (After(1_000), "loading", "spawn"),
        ],
    );
    let orders = rig.orders.len();
    rig.on(Event::Called(99, Outcome::Done));
    assert_eq!(rig.orders.len(), orders, "an answer to nothing is nothing");
}

#[test]
fn no_more_loads_begin_than_an_engine_can_have_use_of() {
    let mut rig = Rig::up(setup(&SEVERAL), listing(&[]));
    for model in 0..64 {
        rig.step(load(&model.to_string()));
    }
    rig.done();
    rig.walk(&[(load("one more"), "ready", "503 BUSY 5"), (load("1"), "ready", "begun"), (FAILED, "ready", "")]);
    rig.walk(&[(load("one more"), "ready", "/load one more, begun")]);
}

#[test]
fn a_wake_call_that_fails_is_left_alone_too() {
    let seen = |asleep| See(Sighting { asleep: Some(asleep), ..queue(0, 0) });
    Rig::up(setup(&SLEEPER), queue(0, 0)).walk(&[
        (seen(true), "asleep health", ""),
        (load("m"), "loading", "/wake_up, begun"),
        (load("m"), "loading", "begun"),
        (FAILED, "asleep load_failed", ""),
        (load("m"), "asleep load_failed", "503 LOAD_FAILED 2"),
        (After(2_000), "asleep load_failed", ""),
        (load("m"), "loading", "/wake_up, begun"),
        // It says that it woke, and it did not.
        (DONE, "asleep load_failed", ""),
        (After(4_000), "asleep load_failed", ""),
        (load("m"), "loading", "/wake_up, begun"),
        (After(900), "loading", ""),
    ]);
    let mut rig = Rig::up(setup(&SLEEPER), queue(0, 0));
    rig.walk(&[
        (seen(true), "asleep health", ""),
        (load(""), "loading", "/wake_up, begun"),
        (After(3_000), "loading", ""),
    ]);
    rig.sight = Sighting { asleep: Some(false), ..queue(0, 0) };
    rig.walk(&[(DONE, "ready", ""), (seen(true), "asleep health in 3000", "")]);
    rig.walk(&[(load(""), "loading in 3000", "/wake_up, begun"), (After(1_000), "loading in 2000", "")]);
}

#[test]
fn an_engine_that_is_sick_after_it_was_woken_is_said_to_be() {
    let mut rig = Rig::up(setup(&SLEEPER), queue(0, 0));
    rig.walk(&[
        (See(Sighting { asleep: Some(true), ..queue(0, 0) }), "asleep health", ""),
        (load(""), "loading", "/wake_up, begun"),
        (See(status(500)), "loading", ""),
        (After(100_000), "loading", ""),
        (DONE, "loading", ""),
        (After(59_999), "loading", ""),
        (After(1), "unhealthy health", ""),
        (load(""), "unhealthy health", "503 ENGINE_UNHEALTHY 5"),
        (See(Sighting { asleep: Some(true), ..queue(0, 0) }), "asleep health", ""),
    ]);
    // Its wake failed, as far as anybody can see.
    rig.walk(&[(load(""), "loading", "/wake_up, begun"), (FAILED, "asleep load_failed", "")]);
    rig.walk(&[(load(""), "asleep load_failed", "503 LOAD_FAILED 4"), (After(4_000), "asleep load_failed", "")]);
    rig.walk(&[(load(""), "loading", "/wake_up, begun"), (DONE, "asleep load_failed", "")]);
}

#[test]
fn an_unhealthy_engine_loads_nothing() {
    Rig::up(setup(&SEVERAL), listing(&[])).walk(&[
        (See(reach(Reach::Refused)), "unhealthy silent", ""),
        (load("m"), "unhealthy silent", "503 ENGINE_UNHEALTHY 5"),
    ]);
}

#[test]
fn an_answer_means_what_the_call_says() {
    let call = Call {
        method: Method::Post,
        path: "/load",
        body: "",
        already: Some(Already { status: 400, text: "already running" }),
        origin: Origin::CONFIGURED,
    };
    let table = [
        (200, "", Outcome::Done),
        (202, "", Outcome::Done),
        (400, "it is Already Running", Outcome::Done),
        (400, "no", Outcome::Failed),
        (404, "", Outcome::Missing),
        (405, "", Outcome::Missing),
        (501, "", Outcome::Missing),
        (503, "", Outcome::Failed),
    ];
    for (status, body, outcome) in table {
        assert_eq!(Outcome::of(&call, status, body.as_bytes()), outcome, "{status} {body}");
    }
}

#[test]
fn no_more_other_names_are_remembered_than_there_is_room_for() {
    let mut rig = Rig::up(setup(&SEVERAL), listing(&[("m", State::Ready)]));
    for name in 0..300 {
        rig.step(load(&format!("alias {name}")));
        rig.step(DONE);
        rig.pass(10_000);
    }
    assert_eq!(rig.machine.snapshot(rig.now).models.len(), 257);
}
