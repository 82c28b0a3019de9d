//! Sleep and what comes before it: nobody's request is under way.

use crate::engines::{NAPPER, PLAIN, QUEUED, ROUTER, SEVERAL, SLEEPER};
use crate::rig::{Rig, Step, activity, asleep, listing, load, queue, setup, sleep, status};
use Step::{After, Called, On, See};
use nix::sys::signal::Signal;
use spillway_filters::feed::{Identity, Moment, State};
use spillway_shim::probe::Sighting;
use spillway_shim::state::{Event, Outcome, Setup};

const DONE: Step = Called(Outcome::Done);

fn idle(preset: &'static spillway_filters::presets::Preset) -> Setup {
    Setup { idle_sleep_ms: Some(60_000), ..setup(preset) }
}

fn subscribed(mut rig: Rig) -> Rig {
    rig.on(Event::Subscribed("a".into()));
    let seq = rig.machine.seq();
    rig.on(activity("a", seq, 0, 0));
    rig
}

/// A subscriber says how many requests it has, of the newest snapshot.
fn says(rig: &mut Rig, in_flight: u64) {
    let seq = rig.machine.seq();
    rig.on(activity("a", seq, in_flight, 1));
}

#[test]
fn nobody_follows_and_no_call_puts_it_to_sleep_so_it_is_ended() {
    Rig::up(setup(&PLAIN), status(200)).walk(&[
        (sleep(""), "asleep asked in 5200", "begun, SIGTERM"),
        (sleep(""), "asleep asked in 5200", "begun"),
        (After(9_999), "asleep asked in 5200", ""),
        (After(1), "asleep asked in 5200", "SIGKILL"),
        (After(99_000), "asleep asked in 5200", ""),
        (On(Event::Ended(137)), "asleep asked in 5200", ""),
        (On(Event::Cleared), "asleep asked in 5200", ""),
        (sleep(""), "asleep asked in 5200", "done"),
        (After(99_000), "asleep asked in 5200", ""),
        (load(""), "loading in 5200", "spawn, begun"),
        (On(Event::Spawned), "loading in 5200", ""),
        (After(1_000), "ready", ""),
    ]);
}

#[test]
fn an_end_that_we_asked_for_is_no_end_of_the_shim() {
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    rig.walk(&[
        (sleep(""), "asleep asked in 5200", "begun, SIGTERM"),
        (On(Event::Ended(0)), "asleep asked in 5200", ""),
        (On(Event::Cleared), "asleep asked in 5200", ""),
    ]);
    assert_eq!(rig.machine.snapshot(rig.now).restarts, 0);
}

#[test]
fn a_call_puts_it_to_sleep_and_another_wakes_it() {
    let mut rig = Rig::up(setup(&SLEEPER), queue(0, 0));
    rig.sight = Sighting { asleep: Some(true), ..queue(0, 0) };
    rig.walk(&[
        (sleep(""), "asleep asked", "begun, /sleep"),
        (DONE, "asleep asked", ""),
        (After(60_000), "asleep asked", ""),
        (load(""), "loading", "/wake_up, begun"),
        (sleep(""), "loading", "503 BUSY 1"),
    ]);
    rig.sight = asleep(false);
    rig.walk(&[(DONE, "ready", ""), (sleep(""), "asleep asked in 0", "begun, /sleep")]);
}

#[test]
fn where_the_call_is_missing_the_process_is_ended_now_and_next_time_at_once() {
    Rig::up(setup(&SLEEPER), queue(0, 0)).walk(&[
        (sleep(""), "asleep asked", "begun, /sleep"),
        (Called(Outcome::Missing), "asleep asked", "SIGTERM"),
        (On(Event::Ended(0)), "asleep asked in 5200", ""),
        (On(Event::Cleared), "asleep asked in 5200", ""),
        (load(""), "loading in 5200", "spawn, begun"),
        (On(Event::Spawned), "loading in 5200", ""),
        (After(1_000), "ready", ""),
        (sleep(""), "asleep asked", "begun, SIGTERM"),
    ]);
    // Who knows that it sleeps is not asked again; who has come since is.
    let mut rig = subscribed(Rig::up(setup(&SLEEPER), queue(0, 0)));
    rig.walk(&[(sleep(""), "asleep asked", "begun")]);
    let seq = rig.machine.seq();
    rig.on(activity("a", seq, 0, 0));
    rig.on(Event::Identified(1, Identity::default()));
    assert_eq!((rig.machine.seq(), rig.done().as_str()), (seq + 1, "/sleep"));
    rig.walk(&[
        (On(Event::Subscribed("b".into())), "asleep asked", ""),
        (Called(Outcome::Missing), "asleep asked", ""),
        (On(activity("b", seq + 1, 0, 0)), "asleep asked", "SIGTERM"),
    ]);
    let watched = Setup { owned: false, ..setup(&SLEEPER) };
    Rig::up(watched, queue(0, 0)).walk(&[
        (sleep(""), "asleep asked", "begun, /sleep"),
        (Called(Outcome::Missing), "ready", ""),
        (sleep(""), "ready", "501 NO_SLEEP"),
    ]);
    // Any other failure is the engine's own: it stays up.
    Rig::up(setup(&SLEEPER), queue(0, 0))
        .walk(&[(sleep(""), "asleep asked", "begun, /sleep"), (Called(Outcome::Failed), "ready", "")]);
}

#[test]
fn every_request_of_a_subscriber_is_waited_for() {
    let mut rig = subscribed(Rig::up(setup(&PLAIN), status(200)));
    says(&mut rig, 2);
    rig.walk(&[(sleep(""), "asleep asked in 5200", "begun")]);
    let seq = rig.machine.seq();
    let table = [
        // Of an older snapshot: more may have come since.
        (activity("a", seq - 1, 0, 9), ""),
        (activity("a", seq, 1, 9), ""),
        (activity("b", seq, 0, 9), ""),
        (Event::Subscribed("b".into()), ""),
        (activity("a", seq, 0, 9), ""),
        (activity("b", seq + 1, 0, 0), "SIGTERM"),
    ];
    for (event, done) in table {
        rig.on(event.clone());
        assert_eq!(rig.done(), done, "{event:?}");
    }
}

#[test]
fn an_asked_sleep_is_given_up_after_the_drain_and_an_idle_one_after_five_seconds() {
    let mut rig = subscribed(Rig::up(setup(&PLAIN), status(200)));
    says(&mut rig, 1);
    rig.walk(&[
        (sleep(""), "asleep asked in 5200", "begun"),
        (After(29_999), "asleep asked in 5200", ""),
        (After(1), "ready", ""),
        (After(99_000), "ready", ""),
    ]);

    let mut rig = subscribed(Rig::up(idle(&PLAIN), status(200)));
    rig.walk(&[
        (After(59_999), "ready", ""),
        (After(1), "asleep idle in 5200", ""),
        (After(4_999), "asleep idle in 5200", ""),
        (After(1), "ready", ""),
        (After(59_999), "ready", ""),
        (After(1), "asleep idle in 5200", ""),
        (sleep(""), "asleep asked in 5200", "begun"),
        (After(29_999), "asleep asked in 5200", ""),
    ]);
    says(&mut rig, 0);
    assert_eq!(rig.done(), "SIGTERM");
}

#[test]
fn a_request_calls_off_a_sleep_that_nobody_asked_for() {
    let mut rig = subscribed(Rig::up(idle(&PLAIN), status(200)));
    rig.walk(&[(After(60_000), "asleep idle in 5200", "")]);
    says(&mut rig, 1);
    rig.walk(&[(After(0), "ready", ""), (sleep(""), "asleep asked in 5200", "begun")]);
    says(&mut rig, 1);
    assert_eq!(rig.engine(), "asleep asked in 5200", "it waits for the request");
}

#[test]
fn a_shim_that_was_just_started_waits_for_those_who_come_back() {
    let young = |seen| {
        let mut rig = Rig::new(setup(&PLAIN));
        rig.now = Moment::default();
        [On(Event::Begun), On(Event::Spawned), See(status(200))].into_iter().for_each(|step| rig.step(step));
        rig.done();
        rig.step(seen);
        rig
    };
    for last in [sleep(""), On(Event::Signal(Signal::SIGTERM))] {
        let mut rig = young(last.clone());
        let begun = if matches!(last, On(Event::Sleep(_))) { "begun" } else { "" };
        assert_eq!(rig.done(), begun, "{last:?}");
        rig.pass(1_499 - rig.now.since(Moment::default()));
        assert_eq!(rig.done(), "", "{last:?}");
        rig.pass(1_000);
        assert_eq!(rig.done(), "SIGTERM", "{last:?}");
    }
}

#[test]
fn without_a_time_to_drain_followers_still_have_five_seconds_to_say_that_they_know() {
    let hasty = || subscribed(Rig::up(Setup { drain_ms: 0, ..setup(&QUEUED) }, queue(0, 0)));
    let mut rig = hasty();
    rig.walk(&[(sleep(""), "asleep asked in 5200", "begun"), (After(4_999), "asleep asked in 5200", "")]);
    says(&mut rig, 0);
    assert_eq!(rig.done(), "SIGTERM");
    hasty().walk(&[(sleep(""), "asleep asked in 5200", "begun"), (After(5_000), "ready", "")]);
}

#[test]
fn a_call_to_sleep_that_fails_again_and_again_is_made_less_and_less() {
    let told = |asleep| Sighting { asleep: Some(asleep), ..queue(0, 0) };
    let mut rig = Rig::up(Setup { idle_sleep_ms: Some(1_000), ..setup(&SLEEPER) }, told(false));
    rig.done();
    let mut called = Vec::new();
    for second in 0..700 {
        rig.pass(1_000);
        if rig.done() == "/sleep" {
            called.push(second);
            rig.step(Called(Outcome::Failed));
        }
    }
    assert_eq!(called, [0, 2, 6, 14, 30, 62, 662]);
    // Somebody who asks for it is obeyed, and one that does sleep has not failed.
    rig.sight = told(true);
    rig.walk(&[
        (sleep(""), "asleep asked", "begun, /sleep"),
        (DONE, "asleep asked", ""),
        (load(""), "loading", "/wake_up, begun"),
    ]);
    rig.sight = told(false);
    rig.walk(&[(DONE, "ready", ""), (After(999), "ready", ""), (After(1), "asleep idle in 0", "/sleep")]);
}

#[test]
fn the_engines_own_queue_is_waited_for() {
    let mut rig = Rig::up(setup(&QUEUED), queue(1, 0));
    rig.walk(&[
        (sleep(""), "asleep asked in 5200", "begun"),
        (See(queue(0, 1)), "asleep asked in 5200", ""),
        (See(queue(0, 0)), "asleep asked in 5200", "SIGTERM"),
    ]);
    // What it said before everybody knew does not count.
    let mut rig = Rig::up(setup(&QUEUED), queue(0, 0));
    rig.blind = true;
    rig.walk(&[(sleep(""), "asleep asked in 5200", "begun")]);
    // An engine whose option is off does not tell; then it is not asked.
    Rig::up(setup(&QUEUED), status(200)).walk(&[(sleep(""), "asleep asked in 5200", "begun, SIGTERM")]);
}

#[test]
fn what_is_used_is_not_idle() {
    let used: [fn(&mut Rig); 5] = [
        |rig| {
            says(rig, 1);
            rig.pass(100_000);
            says(rig, 0);
        },
        |rig| rig.on(activity("a", 1, 0, 5)),
        |rig| rig.step(load("")),
        |rig| rig.see(queue(1, 0)),
        |rig| rig.see(queue(0, 1)),
    ];
    for (row, using) in used.into_iter().enumerate() {
        let mut rig = subscribed(Rig::up(idle(&QUEUED), queue(0, 0)));
        rig.pass(50_000);
        using(&mut rig);
        rig.sight = queue(0, 0);
        rig.pass(59_999);
        assert_eq!(rig.engine(), "ready", "row {row}");
        rig.pass(1);
        assert_eq!(rig.engine(), "asleep idle in 5200", "row {row}");
    }
    // As long as a request is under way, and before its subscriber has said anything.
    let mut rig = subscribed(Rig::up(idle(&PLAIN), status(200)));
    says(&mut rig, 1);
    rig.walk(&[(After(600_000), "ready", "")]);
    let mut rig = Rig::up(idle(&PLAIN), status(200));
    rig.walk(&[(On(Event::Subscribed("mute".into())), "ready", ""), (After(600_000), "ready", "")]);
    // What cannot be put to sleep, or has nothing to give back, is not.
    let watched = |preset| Setup { owned: false, ..idle(preset) };
    Rig::up(watched(&PLAIN), status(200)).walk(&[(After(600_000), "ready", "")]);
    Rig::up(idle(&SEVERAL), listing(&[])).walk(&[(After(600_000), "ready", "")]);
}

#[test]
fn an_engine_of_whose_use_nobody_tells_is_never_idle() {
    Rig::up(idle(&NAPPER), status(200)).walk(&[(After(600_000), "ready", "")]);
    // Somebody follows and has nothing under way.
    subscribed(Rig::up(idle(&NAPPER), status(200)))
        .walk(&[(After(59_999), "ready", ""), (After(1), "asleep idle in 5200", "")]);
    // It tells itself.
    Rig::up(idle(&QUEUED), queue(0, 0))
        .walk(&[(After(59_999), "ready", ""), (After(1), "asleep idle in 5200", "SIGTERM")]);
}

#[test]
fn a_subscriber_that_left_with_requests_is_waited_for_as_long_as_they_can_last_unseen() {
    let mut rig = subscribed(Rig::up(setup(&PLAIN), status(200)));
    says(&mut rig, 3);
    rig.walk(&[
        (On(Event::Left("a".into())), "ready", ""),
        (sleep(""), "asleep asked in 5200", "begun"),
        (After(14_999), "asleep asked in 5200", ""),
        (After(1), "asleep asked in 5200", "SIGTERM"),
    ]);
    // Two streams of one name: one is left.
    let mut rig = subscribed(Rig::up(setup(&PLAIN), status(200)));
    rig.on(Event::Subscribed("a".into()));
    rig.walk(&[
        (On(Event::Left("a".into())), "ready", ""),
        (sleep(""), "asleep asked in 5200", "begun"),
        (After(20_000), "asleep asked in 5200", ""),
    ]);
    // It left without a request.
    let mut rig = subscribed(Rig::up(setup(&PLAIN), status(200)));
    rig.walk(&[(On(Event::Left("a".into())), "ready", ""), (sleep(""), "asleep asked in 5200", "begun, SIGTERM")]);
}

#[test]
fn a_subscriber_whose_stream_was_cut_may_have_requests_before_it_is_back() {
    let mut rig = subscribed(Rig::up(setup(&PLAIN), status(200)));
    rig.on(Event::Left("a".into()));
    says(&mut rig, 1);
    rig.walk(&[(sleep(""), "asleep asked in 5200", "begun"), (After(10_000), "asleep asked in 5200", "")]);
    says(&mut rig, 1);
    rig.walk(&[(After(14_999), "asleep asked in 5200", ""), (After(1), "asleep asked in 5200", "SIGTERM")]);
}

#[test]
fn a_wish_to_load_stops_a_sleep_that_has_not_begun_and_follows_one_that_has() {
    let mut rig = subscribed(Rig::up(setup(&PLAIN), status(200)));
    says(&mut rig, 1);
    rig.walk(&[
        (sleep(""), "asleep asked in 5200", "begun"),
        (load(""), "ready", "done"),
        (After(60_000), "ready", ""),
        (sleep(""), "asleep asked in 5200", "begun"),
    ]);
    says(&mut rig, 0);
    rig.done();
    rig.walk(&[
        (load(""), "asleep asked in 5200", "begun"),
        (On(Event::Ended(143)), "asleep asked in 5200", ""),
        (On(Event::Cleared), "loading in 5200", "spawn"),
    ]);

    let mut rig = Rig::up(setup(&SLEEPER), queue(0, 0));
    rig.walk(&[
        (sleep(""), "asleep asked", "begun, /sleep"),
        (load(""), "asleep asked", "begun"),
        (DONE, "loading", "/wake_up"),
        (DONE, "ready", ""),
    ]);
}

#[test]
fn a_wish_to_sleep_takes_the_wishes_to_load_back_that_came_before() {
    let mut rig = Rig::up(setup(&ROUTER), listing(&[("m", State::Absent), ("n", State::Absent)]));
    rig.walk(&[
        (sleep(""), "asleep asked in 5200", "begun, SIGTERM"),
        (load("m"), "asleep asked in 5200", "begun"),
        (sleep(""), "asleep asked in 5200", "begun"),
        (On(Event::Ended(0)), "asleep asked in 5200", ""),
        (On(Event::Cleared), "asleep asked in 5200", ""),
        (After(3_600_000), "asleep asked in 5200", ""),
    ]);
    assert_eq!(rig.model("m"), "-", "nobody loads it");
    rig.walk(&[
        (load("n"), "loading in 5200", "spawn, begun"),
        (On(Event::Spawned), "loading in 5200", ""),
        (After(10_000), "ready", "/load n"),
    ]);

    let mut rig = subscribed(Rig::up(setup(&SEVERAL), listing(&[("m", State::Ready)])));
    rig.step(sleep("m"));
    says(&mut rig, 0);
    rig.done();
    rig.sight = listing(&[]);
    rig.walk_model("m", &[(load("m"), "draining asked", "begun"), (sleep("m"), "draining asked", "begun")]);
    rig.walk_model("m", &[(DONE, "asleep asked", "")]);
}

#[test]
fn an_engine_that_is_too_busy_to_tell_its_queue_is_not_quiet() {
    let busy = || Sighting { busy: true, ..status(200) };
    let mut rig = Rig::up(setup(&QUEUED), queue(1, 0));
    rig.sight = busy();
    rig.walk(&[(sleep(""), "asleep asked in 5200", "begun"), (After(29_000), "asleep asked in 5200", "")]);
    rig.walk(&[(See(queue(0, 0)), "asleep asked in 5200", "SIGTERM")]);
    // It has fallen silent altogether.
    let mut rig = Rig::up(setup(&QUEUED), queue(1, 0));
    rig.sight = Sighting::only(spillway_shim::probe::Reach::Silent);
    rig.walk(&[(sleep(""), "asleep asked in 5200", "begun"), (After(29_000), "asleep asked in 5200", "")]);
}

#[test]
fn a_look_without_an_answer_says_nothing_of_a_sleep() {
    let told = |asleep| Sighting { asleep: Some(asleep), ..queue(0, 0) };
    let silent = || Sighting::only(spillway_shim::probe::Reach::Silent);
    let mut rig = Rig::up(setup(&SLEEPER), told(false));
    rig.walk(&[(sleep(""), "asleep asked", "begun, /sleep")]);
    rig.sight = silent();
    rig.walk(&[(DONE, "asleep asked", ""), (See(told(true)), "asleep asked", "")]);
    rig.walk(&[(load(""), "loading", "/wake_up, begun")]);
    rig.sight = silent();
    rig.walk(&[(DONE, "loading", ""), (See(told(false)), "ready", "")]);
}

#[test]
fn the_models_of_an_engine_are_unloaded_one_by_one() {
    let both = listing(&[("m", State::Ready), ("n", State::Ready), ("l", State::Absent)]);
    let mut rig = Rig::up(setup(&SEVERAL), both);
    rig.walk(&[(sleep(""), "asleep asked in 5200", "begun, /unload m, /unload n")]);
    rig.walk(&[(DONE, "asleep asked in 5200", "")]);
    rig.sight = listing(&[]);
    // The engine itself takes requests, and needs no waking.
    rig.walk(&[(DONE, "ready", ""), (After(60_000), "ready", "")]);
    assert_eq!((rig.model("m").as_str(), rig.model("n").as_str()), ("asleep asked", "asleep asked"));
    rig.walk(&[(sleep(""), "ready", "done"), (load("m"), "ready", "/load m, begun"), (DONE, "ready", "")]);
    // Nothing is loaded.
    Rig::up(setup(&SEVERAL), listing(&[])).walk(&[(sleep(""), "ready", "done")]);
}

#[test]
fn a_model_whose_unload_failed_is_still_there() {
    let mut rig = Rig::up(setup(&SEVERAL), listing(&[("m", State::Ready), ("n", State::Ready)]));
    rig.sight = listing(&[("n", State::Ready)]);
    rig.walk(&[
        (sleep(""), "asleep asked in 5200", "begun, /unload m, /unload n"),
        (DONE, "asleep asked in 5200", ""),
        (Called(Outcome::Failed), "ready", ""),
    ]);
    assert_eq!((rig.model("m").as_str(), rig.model("n").as_str()), ("asleep asked", "ready"));
    // A second load would be a second instance of it.
    rig.walk(&[(load("n"), "ready", "done")]);
}

#[test]
fn a_model_that_is_not_found_is_no_missing_call() {
    Rig::up(setup(&SEVERAL), listing(&[("m", State::Ready)])).walk(&[
        (sleep(""), "asleep asked in 5200", "begun, /unload m"),
        (Called(Outcome::Missing), "ready", ""),
        (See(listing(&[("n", State::Ready)])), "ready", ""),
        (sleep(""), "asleep asked in 5200", "begun, /unload n"),
    ]);
}

#[test]
fn another_watched_engine_may_have_the_call_that_one_lacked() {
    Rig::up(Setup { owned: false, ..setup(&SLEEPER) }, queue(0, 0)).walk(&[
        (sleep(""), "asleep asked", "begun, /sleep"),
        (Called(Outcome::Missing), "ready", ""),
        (sleep(""), "ready", "501 NO_SLEEP"),
        (See(Sighting::only(spillway_shim::probe::Reach::Refused)), "absent", ""),
        (See(queue(0, 0)), "ready", ""),
        (sleep(""), "asleep asked", "begun, /sleep"),
    ]);
}

#[test]
fn one_model_sleeps_where_the_engine_can_do_that() {
    let both = || listing(&[("m", State::Ready), ("n", State::Ready)]);
    let mut rig = subscribed(Rig::up(setup(&SEVERAL), both()));
    let seq = rig.machine.seq();
    rig.walk_model(
        "m",
        &[
            (sleep("m"), "draining asked", "begun"),
            (sleep("n"), "draining asked", "503 BUSY 1"),
            (On(activity("a", seq + 1, 0, 1)), "draining asked", "/unload m"),
            (load("m"), "draining asked", "begun"),
            (sleep("m"), "draining asked", "begun"),
            (load("m"), "draining asked", "begun"),
        ],
    );
    assert_eq!((rig.engine().as_str(), rig.model("n").as_str()), ("ready", "ready"));
    let n = || See(listing(&[("n", State::Ready)]));
    rig.sight = listing(&[("n", State::Ready)]);
    rig.walk_model("m", &[(DONE, "loading", "/load m"), (n(), "loading", ""), (DONE, "loading", "")]);

    // The list is late.
    let mut rig = Rig::up(setup(&SEVERAL), both());
    rig.walk_model("m", &[(sleep("m"), "draining asked", "begun, /unload m"), (DONE, "asleep asked", "")]);
    rig.walk_model("m", &[(n(), "asleep asked", ""), (sleep("m"), "asleep asked", "done"), (See(both()), "ready", "")]);
    rig.walk(&[(sleep("unheard"), "ready", "done")]);
    Rig::up(setup(&QUEUED), queue(0, 0)).walk(&[(sleep("m"), "asleep asked in 5200", "begun, SIGTERM")]);
}

#[test]
fn nothing_is_put_to_sleep_while_it_loads() {
    let mut rig = Rig::up(setup(&SEVERAL), listing(&[("n", State::Ready), ("own", State::Loading)]));
    rig.walk(&[
        (load("m"), "ready", "/load m, begun"),
        (sleep("m"), "ready", "503 BUSY 1"),
        (sleep("own"), "ready", "503 BUSY 1"),
        (sleep(""), "ready", "503 BUSY 1"),
        (sleep("n"), "ready", "begun, /unload n"),
    ]);
}

#[test]
fn an_engine_that_hangs_in_a_load_is_ended_to_sleep() {
    let mut rig = Rig::up(setup(&ROUTER), listing(&[("m", State::Absent)]));
    rig.walk(&[(load("m"), "ready", "/load m, begun"), (DONE, "ready", "")]);
    rig.sight = Sighting::only(spillway_shim::probe::Reach::Silent);
    rig.walk(&[
        (After(3_600_000), "unhealthy silent", ""),
        (sleep(""), "asleep asked in 5200", "begun, SIGTERM"),
        (On(Event::Ended(143)), "asleep asked in 5200", ""),
        (On(Event::Cleared), "asleep asked in 5200", ""),
    ]);
    assert_eq!(rig.model("m"), "-");

    // It never comes up, and somebody waits for a model of it.
    let mut rig = Rig::new(setup(&ROUTER));
    rig.on(Event::Begun);
    rig.on(Event::Spawned);
    rig.sight = Sighting::only(spillway_shim::probe::Reach::Silent);
    rig.done();
    rig.walk(&[(load("m"), "loading", "begun"), (sleep(""), "asleep asked", "begun, SIGTERM")]);
}

#[test]
fn where_there_is_one_model_its_name_says_nothing() {
    Rig::up(setup(&PLAIN), status(200)).walk(&[
        (sleep("m"), "asleep asked in 5200", "begun, SIGTERM"),
        (sleep("m"), "asleep asked in 5200", "begun"),
        (sleep(""), "asleep asked in 5200", "begun"),
    ]);
}

#[test]
fn what_does_not_run_sleeps_by_not_being_started() {
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    rig.walk(&[
        (On(Event::Ended(1)), "loading crashed in 6200", ""),
        (sleep(""), "asleep asked in 5200", "begun"),
        (On(Event::Cleared), "asleep asked in 5200", ""),
        (After(60_000), "asleep asked in 5200", ""),
        (load(""), "loading crashed in 5200", "spawn, begun"),
        (On(Event::Spawned), "loading crashed in 5200", ""),
        (On(Event::Ended(1)), "loading crashed in 7200", ""),
        (On(Event::Cleared), "loading crashed in 7200", ""),
        (sleep(""), "asleep asked in 5200", "done"),
        (After(60_000), "asleep asked in 5200", ""),
    ]);
}
