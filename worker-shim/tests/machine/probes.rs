//! What probes say, and how often they are made.

use crate::engines::{FIRST, NAPPER, PLAIN, QUEUED, SLEEPER, WOKEN_BY_QUEUE};
use crate::rig::{Rig, Step, asleep, load, queue, reach, setup, status};
use Step::{After, On, See};
use nix::sys::signal::Signal;
use spillway_filters::feed::Moment;
use spillway_shim::probe::Reach;
use spillway_shim::state::{Action, Event, Machine, Setup};

const REFUSED: Step = See(reach(Reach::Refused));
const SILENT: Step = See(reach(Reach::Silent));
const WELL: Step = See(status(200));

#[test]
fn an_engine_that_was_well_is_unhealthy_when_it_is_not() {
    Rig::up(setup(&PLAIN), status(200)).walk(&[
        (See(status(500)), "unhealthy health", ""),
        (load(""), "unhealthy health", "503 ENGINE_UNHEALTHY 5"),
        // The preset says that this status means loading, at any time.
        (See(status(503)), "loading", ""),
        (WELL, "ready", ""),
        (REFUSED, "unhealthy silent", ""),
        (WELL, "ready", ""),
        (See(status(299)), "ready", ""),
        (See(status(302)), "unhealthy health", ""),
    ]);
    Rig::up(setup(&FIRST), status(200)).walk(&[(See(status(503)), "unhealthy health", ""), (WELL, "ready", "")]);
}

#[test]
fn an_engine_that_asks_for_a_key_takes_requests() {
    for code in [401, 403] {
        Rig::new(setup(&PLAIN)).walk(&[
            (On(Event::Begun), "loading", "spawn"),
            (On(Event::Spawned), "loading", ""),
            (See(status(code)), "ready", ""),
        ]);
    }
}

#[test]
fn an_engine_without_the_path_of_its_preset_is_tried() {
    for code in [404, 405, 501] {
        Rig::new(setup(&PLAIN)).walk(&[
            (On(Event::Begun), "loading", "spawn"),
            (On(Event::Spawned), "loading", ""),
            (See(status(code)), "ready", ""),
            (See(status(500)), "unhealthy health", ""),
        ]);
    }
}

#[test]
fn a_busy_engine_may_leave_two_rounds_unanswered() {
    Rig::up(setup(&PLAIN), status(200)).walk(&[
        (SILENT, "ready", ""),
        (SILENT, "ready", ""),
        (SILENT, "unhealthy silent", ""),
        (WELL, "ready", ""),
        (SILENT, "ready", ""),
        (SILENT, "ready", ""),
        (WELL, "ready", ""),
        (SILENT, "ready", ""),
        (SILENT, "ready", ""),
    ]);
}

#[test]
fn what_waits_makes_it_saturated_until_half_of_it_is_gone() {
    let limited = |max_waiting| Setup { max_waiting, ..setup(&QUEUED) };
    Rig::up(limited(Some(4)), queue(1, 0)).walk(&[
        (See(queue(9, 4)), "ready", ""),
        (See(queue(9, 5)), "saturated", ""),
        (See(queue(9, 3)), "saturated", ""),
        // Nothing new is known, so nothing is new.
        (SILENT, "saturated", ""),
        (See(queue(9, 2)), "ready", ""),
        (See(queue(9, 4)), "ready", ""),
        (See(queue(9, 40)), "saturated", ""),
        (WELL, "ready", ""),
    ]);
    Rig::up(limited(Some(0)), queue(1, 0))
        .walk(&[(See(queue(0, 1)), "saturated", ""), (See(queue(0, 0)), "ready", "")]);
    Rig::up(limited(None), queue(1, 0)).walk(&[(See(queue(9, 99)), "ready", "")]);
}

#[test]
fn an_engine_that_sleeps_by_itself_is_ready_where_a_request_wakes_it() {
    Rig::up(setup(&NAPPER), asleep(true)).walk(&[
        (load(""), "ready", "done"),
        (See(asleep(false)), "ready", ""),
        (See(asleep(true)), "ready", ""),
    ]);
    Rig::up(setup(&SLEEPER), asleep(false)).walk(&[
        (See(asleep(true)), "asleep health", ""),
        (See(asleep(false)), "ready", ""),
        (See(asleep(true)), "asleep health", ""),
        (load(""), "loading", "/wake_up, begun"),
    ]);
}

#[test]
fn load_times_are_learned_and_counted_down() {
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    for step in [On(Event::Ended(1)), On(Event::Cleared)] {
        rig.step(step);
    }
    rig.sight = reach(Reach::Refused);
    rig.walk(&[
        (After(1_000), "loading crashed in 5200", "spawn"),
        (On(Event::Spawned), "loading crashed in 5200", ""),
        (After(5_000), "loading crashed in 200", ""),
        (After(5_000), "loading crashed in 0", ""),
    ]);
}

/// How many looks are made in a second of `rig`'s life.
fn looks_in(rig: &mut Rig, millis: u64) -> u64 {
    let before = rig.looks;
    rig.pass(millis);
    rig.looks - before
}

#[test]
fn it_looks_eagerly_only_while_something_is_expected_to_change() {
    let mut rig = Rig::new(setup(&PLAIN));
    rig.on(Event::Begun);
    assert_eq!(looks_in(&mut rig, 100_000), 0, "there is no process yet");
    rig.on(Event::Spawned);
    assert_eq!(looks_in(&mut rig, 10_000), 50);
    rig.see(status(200));
    assert_eq!(looks_in(&mut rig, 100_000), 50);
    rig.see(status(500));
    assert_eq!(looks_in(&mut rig, 100_000), 50);
    rig.see(status(503));
    assert_eq!(looks_in(&mut rig, 10_000), 50);
    rig.on(Event::Ended(1));
    rig.on(Event::Cleared);
    assert_eq!(looks_in(&mut rig, 1_000), 0, "there is no process any more");

    let mut rig = Rig::up(Setup { owned: false, ..setup(&PLAIN) }, status(200));
    assert_eq!(looks_in(&mut rig, 100_000), 50);
    rig.see(reach(Reach::Refused));
    assert_eq!(looks_in(&mut rig, 100_000), 50);
}

#[test]
fn a_queue_that_is_full_is_looked_at_eagerly() {
    let mut rig = Rig::up(Setup { max_waiting: Some(4), ..setup(&QUEUED) }, queue(9, 5));
    assert_eq!(looks_in(&mut rig, 10_000), 50);
    rig.sight = queue(0, 0);
    rig.walk(&[(After(200), "ready", "")]);
    assert_eq!(looks_in(&mut rig, 100_000), 50);
}

#[test]
fn a_queue_that_wakes_the_engine_is_asked_only_where_somebody_acts_on_it() {
    let idle = |preset| Setup { idle_sleep_ms: Some(60_000), ..setup(preset) };
    let limited = |preset| Setup { max_waiting: Some(1), ..setup(preset) };
    let table = [
        (setup(&PLAIN), false, false),
        (setup(&QUEUED), false, true),
        (setup(&WOKEN_BY_QUEUE), false, false),
        (idle(&WOKEN_BY_QUEUE), false, true),
        (limited(&WOKEN_BY_QUEUE), false, true),
        (limited(&WOKEN_BY_QUEUE), true, false),
    ];
    for (row, (setup, sleeps, asked)) in table.into_iter().enumerate() {
        let mut rig = Rig::up(setup, asleep(sleeps));
        rig.see(asleep(sleeps));
        assert_eq!(rig.asked_queue, asked, "row {row}");
    }
    let mut rig = Rig::up(setup(&WOKEN_BY_QUEUE), asleep(false));
    rig.on(Event::Signal(Signal::SIGTERM));
    assert!(rig.asked_queue && rig.done() == "SIGTERM", "requests are waited for");
}

#[test]
fn a_round_that_an_event_has_overtaken_says_nothing() {
    let mut machine = Machine::new(setup(&PLAIN));
    let at = Moment::from_millis;
    machine.on(Event::Begun, at(0));
    machine.on(Event::Spawned, at(0));
    assert_eq!(machine.on(Event::Tick, at(200)), [Action::Look { round: 1, queue: false }]);
    assert_eq!(machine.on(Event::Tick, at(5_000)), [], "one round at a time");
    machine.on(Event::Ended(1), at(5_100));
    // The round comes back with what listened there before.
    machine.on(Event::Looked(1, status(200)), at(5_200));
    machine.on(Event::Cleared, at(5_200));
    machine.on(Event::Tick, at(6_100));
    machine.on(Event::Spawned, at(6_100));
    machine.on(Event::Looked(1, status(200)), at(6_101));
    assert_eq!(machine.snapshot(at(6_101)).engine.state.token(), "loading");
}

#[test]
fn the_number_of_the_snapshot_grows_with_changes_and_with_nothing_else() {
    let mut rig = Rig::up(setup(&QUEUED), queue(0, 0));
    let seq = rig.machine.seq();
    rig.pass(100_000);
    rig.on(Event::Subscribed("a".into()));
    rig.on(crate::rig::activity("a", seq, 1, 1));
    assert_eq!(rig.machine.seq(), seq);
    rig.see(queue(1, 0));
    assert_eq!(rig.machine.seq(), seq + 1);
    let snapshot = rig.machine.snapshot(rig.now);
    assert_eq!((snapshot.running, snapshot.waiting, snapshot.preset.as_str()), (Some(1), Some(0), "base"));
    rig.see(status(503));
    let (seq, first) = (rig.machine.seq(), rig.machine.snapshot(rig.now).engine.ready_in_ms);
    rig.pass(1_000);
    assert_eq!((rig.machine.seq(), first), (seq, None));
}
