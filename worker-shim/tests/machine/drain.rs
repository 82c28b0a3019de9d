//! The end of the shim.

use crate::engines::{PLAIN, QUEUED, SEVERAL, SLEEPER};
use crate::rig::{Rig, Step, activity, listing, load, queue, setup, sleep, status};
use Step::{After, Called, On, See};
use nix::sys::signal::Signal;
use spillway_shim::probe::Sighting;
use spillway_shim::state::{Action, Event, Machine, Outcome, Setup};

const TERM: Step = On(Event::Signal(Signal::SIGTERM));
const INT: Step = On(Event::Signal(Signal::SIGINT));

#[test]
fn an_idle_engine_gets_the_signal_at_once_and_its_code_is_ours() {
    for (signal, name, code) in [(TERM, "SIGTERM", 143), (INT, "SIGINT", 0)] {
        Rig::up(setup(&PLAIN), status(200)).walk(&[
            (signal, "draining", name),
            (load(""), "draining", "503 DRAINING"),
            (sleep(""), "draining", "503 DRAINING"),
            (On(Event::Ended(code)), "draining", ""),
            (On(Event::Cleared), "draining", &format!("exit {code}")),
        ]);
    }
    let idle = On(Event::Cleared);
    Rig::up(setup(&QUEUED), queue(0, 0)).walk(&[(TERM, "draining", "SIGTERM"), (idle, "draining", "")]);
}

#[test]
fn requests_in_flight_finish_first_up_to_the_deadline() {
    let busy = || {
        let mut rig = Rig::up(setup(&QUEUED), queue(0, 0));
        rig.on(Event::Subscribed("a".into()));
        rig.on(activity("a", 1, 2, 2));
        rig
    };
    let mut rig = busy();
    rig.walk(&[(TERM, "draining", ""), (After(10_000), "draining", "")]);
    rig.on(activity("a", rig.machine.seq(), 0, 2));
    assert_eq!(rig.done(), "SIGTERM");

    busy().walk(&[
        (TERM, "draining", ""),
        (After(29_999), "draining", ""),
        (After(1), "draining", "SIGTERM"),
        (After(9_999), "draining", ""),
        (After(1), "draining", "SIGKILL"),
        (After(60_000), "draining", ""),
        (On(Event::Ended(137)), "draining", ""),
        (On(Event::Cleared), "draining", "exit 137"),
    ]);

    Rig::up(setup(&QUEUED), queue(2, 0)).walk(&[
        (TERM, "draining", ""),
        (See(queue(0, 1)), "draining", ""),
        (See(queue(0, 0)), "draining", "SIGTERM"),
    ]);
}

#[test]
fn a_second_signal_is_passed_on_at_once() {
    let mut rig = Rig::up(setup(&QUEUED), queue(1, 0));
    rig.walk(&[
        (TERM, "draining", ""),
        (After(1_000), "draining", ""),
        (INT, "draining", "SIGINT"),
        (After(5_000), "draining", ""),
        (INT, "draining", "SIGINT"),
        (After(4_999), "draining", ""),
        (After(1), "draining", "SIGKILL"),
    ]);
}

#[test]
fn other_signals_are_the_engines() {
    for signal in [Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH] {
        let mut rig = Rig::up(setup(&PLAIN), status(200));
        rig.walk(&[(On(Event::Signal(signal)), "ready", signal.as_str()), (After(60_000), "ready", "")]);
        rig.walk(&[(TERM, "draining", "SIGTERM"), (On(Event::Signal(signal)), "draining", signal.as_str())]);
        rig.step(On(Event::Ended(1)));
        rig.walk(&[(On(Event::Signal(signal)), "draining", "")]);
    }
}

#[test]
fn an_end_by_a_signal_that_was_passed_on_ends_the_shim() {
    let usr1 = || On(Event::Signal(Signal::SIGUSR1));
    let ended = |code| {
        let mut rig = Rig::up(setup(&PLAIN), status(200));
        rig.walk(&[(usr1(), "ready", "SIGUSR1"), (After(1_000), "ready", "")]);
        rig.on(Event::Ended(code));
        rig.on(Event::Cleared);
        rig.done()
    };
    assert_eq!(ended(128 + Signal::SIGUSR1 as u8), format!("exit {}", 128 + Signal::SIGUSR1 as u8));
    // Another end is a crash.
    assert_eq!((ended(139), ended(1)), (String::new(), String::new()));
}

#[test]
fn where_nothing_runs_nothing_is_waited_for() {
    let crashed = || {
        let mut rig = Rig::up(setup(&PLAIN), status(200));
        rig.on(Event::Ended(139));
        rig
    };
    // What is left of its group is seen off first.
    crashed().walk(&[(TERM, "draining", ""), (On(Event::Cleared), "draining", "exit 139")]);
    crashed().walk(&[(On(Event::Cleared), "loading crashed in 6200", ""), (TERM, "draining", "exit 139")]);
    let watched = Setup { owned: false, ..setup(&QUEUED) };
    Rig::up(watched, queue(3, 3)).walk(&[(TERM, "draining", "exit 0")]);
    // It is on its way to sleep already.
    Rig::up(setup(&PLAIN), status(200)).walk(&[
        (sleep(""), "asleep asked in 5200", "begun, SIGTERM"),
        (After(4_000), "asleep asked in 5200", ""),
        (TERM, "draining", ""),
        (After(6_000), "draining", "SIGKILL"),
        (On(Event::Ended(137)), "draining", ""),
        (On(Event::Cleared), "draining", "exit 137"),
    ]);
    Rig::new(setup(&PLAIN)).walk(&[(TERM, "draining", "exit 0")]);
}

#[test]
fn an_engine_that_sleeps_by_a_call_is_just_ended() {
    let mut rig = Rig::up(setup(&SLEEPER), queue(0, 0));
    rig.walk(&[
        (sleep(""), "asleep asked", "begun, /sleep"),
        (Called(Outcome::Done), "asleep asked", ""),
        (TERM, "draining", "SIGTERM"),
    ]);
}

#[test]
fn calls_that_are_out_are_given_up() {
    let mut machine = Machine::new(setup(&SEVERAL));
    let at = spillway_filters::feed::Moment::from_millis;
    machine.on(Event::Begun, at(0));
    machine.on(Event::Spawned, at(0));
    machine.on(Event::Tick, at(200));
    machine.on(Event::Looked(1, listing(&[])), at(200));
    let wish = spillway_filters::feed::Wish { model: Some("m".into()) };
    assert!(machine.on(Event::Load(wish), at(300)).iter().any(|action| matches!(action, Action::Call(_))));
    let actions = machine.on(Event::Signal(Signal::SIGTERM), at(400));
    assert!(actions.starts_with(&[Action::Abort]), "{actions:?}");
}

#[test]
fn requests_of_an_engine_that_is_not_well_finish_first() {
    let unwell = |running| Sighting { running: Some(running), waiting: Some(0), ..status(500) };
    let mut rig = Rig::up(setup(&QUEUED), queue(2, 0));
    rig.walk(&[
        (See(unwell(2)), "unhealthy health", ""),
        (TERM, "draining", ""),
        (See(unwell(0)), "draining", "SIGTERM"),
    ]);
    // Nor is it ended to sleep.
    let mut rig = Rig::up(setup(&QUEUED), queue(2, 0));
    rig.walk(&[(See(unwell(2)), "unhealthy health", ""), (sleep(""), "asleep asked in 5200", "begun")]);
    rig.walk(&[(See(unwell(0)), "asleep asked in 5200", "SIGTERM")]);
}

#[test]
fn a_sleep_that_waits_is_taken_back_and_the_engine_ended_once() {
    for (preset, sight, asleep) in
        [(&PLAIN, status(200), "asleep asked in 5200"), (&SLEEPER, queue(0, 0), "asleep asked")]
    {
        let mut rig = Rig::up(setup(preset), sight);
        rig.on(Event::Subscribed("a".into()));
        rig.on(activity("a", rig.machine.seq(), 1, 1));
        rig.walk(&[(sleep(""), asleep, "begun"), (TERM, "draining", "")]);
        rig.on(activity("a", rig.machine.seq(), 0, 1));
        assert_eq!(rig.done(), "SIGTERM");
    }
}

#[test]
fn a_drain_whose_time_is_up_while_a_group_is_cleared_is_not_due() {
    let mut rig = Rig::up(Setup { drain_ms: 0, ..setup(&PLAIN) }, status(200));
    rig.on(Event::Ended(139));
    rig.walk(&[(TERM, "draining", ""), (After(60_000), "draining", ""), (On(Event::Cleared), "draining", "exit 139")]);
}

#[test]
fn one_who_has_said_the_last_word_is_not_waited_for() {
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    rig.on(Event::Subscribed("a".into()));
    rig.on(activity("a", rig.machine.seq(), 1, 1));
    // It has nothing left and acts on whatever comes; that the shim ends too, it never hears.
    rig.on(activity("a", u64::MAX, 0, 1));
    rig.walk(&[(TERM, "draining", "SIGTERM")]);
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    rig.on(Event::Subscribed("a".into()));
    rig.on(activity("a", rig.machine.seq(), 0, 1));
    rig.walk(&[(TERM, "draining", ""), (On(Event::Left("a".into())), "draining", ""), (After(14_999), "draining", "")]);
}
