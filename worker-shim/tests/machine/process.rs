//! The engine's process: started, ended by itself, started again, left alone.

use crate::engines::{FIRST, PLAIN, SLEEPER};
use crate::rig::{Rig, Step, load, queue, reach, setup, sleep, status};
use Step::{After, Called, On, See};
use nix::sys::signal::Signal;
use spillway_filters::feed::Identity;
use spillway_shim::probe::Reach;
use spillway_shim::state::{Event, Outcome, SpawnFault};

const BEGUN: Step = On(Event::Begun);
const REFUSED: Step = See(reach(Reach::Refused));
const WELL: Step = See(status(200));

#[test]
fn a_start_is_loading_where_the_engine_listens_last_and_starting_where_it_listens_first() {
    Rig::new(setup(&PLAIN)).walk(&[
        (BEGUN, "loading", "spawn"),
        (On(Event::Spawned), "loading", ""),
        (REFUSED, "loading", ""),
        (WELL, "ready", ""),
    ]);
    Rig::new(setup(&FIRST)).walk(&[
        (BEGUN, "starting", "spawn"),
        (On(Event::Spawned), "starting", ""),
        (See(reach(Reach::Silent)), "starting", ""),
        (See(status(503)), "loading", ""),
        (WELL, "ready", ""),
    ]);
}

#[test]
fn what_cannot_be_started_ends_the_shim_as_a_shell_would() {
    let table = [
        (On(Event::NotSpawned(SpawnFault::Taken)), "spawn, exit 2"),
        (On(Event::NotSpawned(SpawnFault::NotFound)), "spawn, exit 127"),
        (On(Event::NotSpawned(SpawnFault::NotRun)), "spawn, exit 126"),
    ];
    for (step, done) in table {
        let mut rig = Rig::new(setup(&PLAIN));
        rig.step(BEGUN);
        rig.step(step);
        rig.step(On(Event::Tick));
        assert_eq!((rig.done().as_str(), rig.machine.due()), (done, None));
    }
}

#[test]
fn an_engine_that_ends_well_ends_the_shim_and_only_when_its_group_is_gone() {
    Rig::up(setup(&PLAIN), status(200)).walk(&[
        (On(Event::Ended(0)), "absent", ""),
        (After(60_000), "absent", ""),
        (On(Event::Cleared), "absent", "exit 0"),
    ]);
}

#[test]
fn a_crash_is_told_at_once_and_started_again_when_the_group_is_gone_and_the_wait_over() {
    Rig::up(setup(&PLAIN), status(200)).walk(&[
        (After(10_000), "ready", ""),
        (On(Event::Ended(139)), "loading crashed in 6200", ""),
        // Whatever listens there now is not ours.
        (After(400), "loading crashed in 5800", ""),
        (load(""), "loading crashed in 5800", "begun"),
        (After(5_000), "loading crashed in 5200", ""),
        (On(Event::Cleared), "loading crashed in 5200", "spawn"),
        (On(Event::Spawned), "loading crashed in 5200", ""),
        (After(1_000), "ready", ""),
        (On(Event::Ended(1)), "loading crashed in 4700", ""),
        (On(Event::Cleared), "loading crashed in 4700", ""),
        (After(2_000), "loading crashed in 2700", "spawn"),
        (On(Event::NotSpawned(SpawnFault::NotRun)), "loading crashed in 6700", ""),
    ]);
}

#[test]
fn a_stranger_where_the_engine_is_to_listen_again_is_a_failed_start() {
    let taken = || On(Event::NotSpawned(SpawnFault::Taken));
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    rig.walk(&[
        (sleep(""), "asleep asked in 5200", "begun, SIGTERM"),
        (On(Event::Ended(143)), "asleep asked in 5200", ""),
        (On(Event::Cleared), "asleep asked in 5200", ""),
        // The stranger answers as a well engine does, and is not asked.
        (load(""), "loading in 5200", "spawn, begun"),
        (taken(), "loading crashed in 6200", ""),
        (After(1_000), "loading crashed in 5200", "spawn"),
        (taken(), "loading crashed in 7200", ""),
        (After(2_000), "loading crashed in 5200", "spawn"),
        (On(Event::Spawned), "loading crashed in 5200", ""),
        (After(1_000), "ready", ""),
    ]);
}

#[test]
fn five_ends_in_a_row_latch_and_it_is_tried_once_after_each_pause() {
    let mut rig = Rig::new(setup(&PLAIN));
    rig.walk(&[(BEGUN, "loading", "spawn"), (On(Event::Spawned), "loading", "")]);
    for wait in [1_000, 2_000, 4_000, 8_000] {
        rig.walk(&[
            (On(Event::Ended(1)), "loading crashed", ""),
            (On(Event::Cleared), "loading crashed", ""),
            (After(wait - 1), "loading crashed", ""),
            (After(1), "loading crashed", "spawn"),
            (On(Event::Spawned), "loading crashed", ""),
        ]);
    }
    let pauses = [60_000, 120_000, 240_000, 480_000, 600_000, 600_000];
    for pause in pauses {
        let refused = |left: u64| format!("503 LOAD_FAILED {left}");
        rig.walk(&[
            (On(Event::Ended(1)), "unhealthy load_failed", ""),
            (load(""), "unhealthy load_failed", &refused(pause / 1_000)),
            (On(Event::Cleared), "unhealthy load_failed", ""),
            (After(pause - 1), "unhealthy load_failed", ""),
            (load("m"), "unhealthy load_failed", &refused(1)),
            (After(1), "loading crashed", "spawn"),
            (load(""), "loading crashed", "begun"),
            (On(Event::Spawned), "loading crashed", ""),
        ]);
    }
    assert_eq!(rig.machine.snapshot(rig.now).restarts, 10);
}

#[test]
fn when_it_is_started_again_is_known_at_its_end() {
    let restart = |rig: &Rig| rig.machine.restart().map(|restart| (restart.at.since(rig.now), restart.latched));
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    assert_eq!(restart(&rig), None);
    for step in [On(Event::Ended(1)), On(Event::Cleared)] {
        rig.step(step);
        assert_eq!(restart(&rig), Some((1_000, false)));
    }
    rig.step(After(1_000));
    assert_eq!(restart(&rig), None);
    assert_eq!(restart(&latched()), Some((50_000, true)));
    for step in [On(Event::Spawned), On(Event::Ended(0))] {
        rig.step(step);
    }
    assert_eq!(restart(&rig), None, "it was to end");
}

/// As latched as an engine can be: its last process has just ended, and its group is gone.
fn latched() -> Rig {
    let mut rig = Rig::new(setup(&PLAIN));
    rig.step(BEGUN);
    for _ in 0..5 {
        for step in [On(Event::Spawned), On(Event::Ended(7)), On(Event::Cleared), After(10_000)] {
            rig.step(step);
        }
    }
    rig.done();
    rig
}

#[test]
fn what_was_mended_and_fails_anew_is_started_again_as_at_first() {
    let mut rig = latched();
    rig.walk(&[(After(50_000), "loading crashed", "spawn"), (On(Event::Spawned), "loading crashed", "")]);
    rig.see(status(200));
    rig.walk(&[
        (On(Event::Ended(1)), "loading crashed in 1200", ""),
        (On(Event::Cleared), "loading crashed in 1200", ""),
        (After(1_000), "loading crashed in 200", "spawn"),
    ]);
}

#[test]
fn a_sleep_steps_over_no_pause_and_hides_no_failure() {
    latched().walk(&[
        (sleep(""), "unhealthy load_failed", "done"),
        (load(""), "unhealthy load_failed", "503 LOAD_FAILED 50"),
        // Nobody wants it: it is not tried by itself.
        (After(100_000), "unhealthy load_failed", ""),
        (load(""), "loading crashed", "spawn, begun"),
        (On(Event::Spawned), "loading crashed", ""),
        (On(Event::Ended(7)), "unhealthy load_failed", ""),
        (sleep(""), "unhealthy load_failed", "begun"),
        (On(Event::Cleared), "unhealthy load_failed", ""),
        (After(500_000), "unhealthy load_failed", ""),
    ]);
    Rig::up(setup(&PLAIN), status(200)).walk(&[
        (On(Event::Ended(1)), "loading crashed in 6200", ""),
        (sleep(""), "asleep asked in 5200", "begun"),
        (load(""), "asleep asked in 5200", "begun"),
        (On(Event::Cleared), "loading crashed in 6200", ""),
        (sleep(""), "asleep asked in 5200", "done"),
        (After(400), "asleep asked in 5200", ""),
        (load(""), "loading crashed in 5800", "begun"),
        (After(600), "loading crashed in 5200", "spawn"),
    ]);
}

#[test]
fn where_nothing_runs_after_a_failure_the_shim_ends_with_its_code() {
    latched().walk(&[(On(Event::Signal(Signal::SIGTERM)), "draining", "exit 7")]);
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    rig.walk(&[
        (On(Event::Ended(1)), "loading crashed in 6200", ""),
        (On(Event::Cleared), "loading crashed in 6200", ""),
        (After(1_000), "loading crashed in 5200", "spawn"),
        (On(Event::NotSpawned(SpawnFault::NotFound)), "loading crashed in 7200", ""),
        (On(Event::Signal(Signal::SIGTERM)), "draining", "exit 127"),
    ]);
}

#[test]
fn having_been_ready_for_a_minute_forgets_earlier_ends() {
    for (ready_for, wait) in [(59_000, 16_000), (61_000, 1_000)] {
        let mut rig = Rig::new(setup(&PLAIN));
        rig.sight = reach(Reach::Refused);
        rig.step(BEGUN);
        for _ in 0..4 {
            for step in [On(Event::Spawned), On(Event::Ended(1)), On(Event::Cleared), After(10_000)] {
                rig.step(step);
            }
        }
        for step in [On(Event::Spawned), WELL, After(ready_for), On(Event::Ended(1)), On(Event::Cleared)] {
            rig.step(step);
        }
        rig.done();
        rig.pass(wait);
        let expected = if ready_for > 60_000 { "spawn" } else { "" };
        assert_eq!(rig.done(), expected, "after {ready_for} ms");
        assert_eq!(rig.engine().starts_with("unhealthy load_failed"), ready_for < 60_000);
    }
}

#[test]
fn an_engine_that_sleeps_is_not_started_again_when_it_ends() {
    let mut rig = Rig::up(setup(&SLEEPER), queue(0, 0));
    rig.walk(&[
        (sleep(""), "asleep asked", "begun, /sleep"),
        (Called(Outcome::Done), "asleep asked", ""),
        (On(Event::Ended(9)), "asleep asked in 5200", ""),
        (On(Event::Cleared), "asleep asked in 5200", ""),
        (After(100_000), "asleep asked in 5200", ""),
        (load("m"), "loading in 5200", "spawn, begun"),
    ]);
}

#[test]
fn a_watched_engine_is_absent_until_somebody_starts_it_and_after_it_ended() {
    let watched = spillway_shim::state::Setup { owned: false, ..setup(&PLAIN) };
    let mut rig = Rig::new(watched);
    assert!(!rig.machine.is_informed());
    rig.walk(&[
        (BEGUN, "absent", ""),
        (load(""), "absent", "503 ENGINE_ABSENT 5"),
        (See(reach(Reach::Silent)), "unhealthy silent", ""),
        (See(status(503)), "loading", ""),
        (WELL, "ready", ""),
        (load(""), "ready", "done"),
        (sleep(""), "ready", "501 NO_SLEEP"),
        (REFUSED, "absent", ""),
        (See(status(500)), "loading", ""),
        (On(Event::Signal(Signal::SIGHUP)), "loading", ""),
    ]);
    assert!(rig.machine.is_informed());
}

#[test]
fn progress_is_shown_while_it_comes_and_identity_while_it_lives() {
    let mut rig = Rig::new(setup(&PLAIN));
    let half = || On(Event::Progress(Some("50 %".into())));
    rig.walk(&[
        (BEGUN, "loading", "spawn"),
        (On(Event::Spawned), "loading", ""),
        (half(), "loading (50 %)", ""),
        (WELL, "ready", ""),
    ]);
    let identity = Identity { digest: Some("d".into()), ..Identity::default() };
    rig.on(Event::Identified(0, identity.clone()));
    assert_eq!(rig.machine.snapshot(rig.now).identity, None, "of an earlier life");
    rig.on(Event::Identified(1, identity.clone()));
    assert_eq!(rig.machine.snapshot(rig.now).identity, Some(identity));
    rig.on(Event::Ended(1));
    assert_eq!(rig.machine.snapshot(rig.now).identity, None);
}

#[test]
fn an_engine_that_its_command_may_have_started_anew_is_observed_anew() {
    let seen = || Identity { digest: Some("d".into()), ..Identity::default() };
    for gone in [reach(Reach::Refused), status(503), status(500)] {
        let mut rig = Rig::up(setup(&PLAIN), status(200));
        let life = rig.observes.take().expect("it is observed");
        rig.on(Event::Identified(life, seen()));
        rig.see(gone.clone());
        assert_eq!(rig.machine.snapshot(rig.now).identity, None, "{gone:?}");
        // What was still being observed then is of no use either.
        rig.on(Event::Identified(life, seen()));
        assert_eq!((rig.machine.snapshot(rig.now).identity, rig.observes), (None, None), "{gone:?}");
        rig.step(WELL);
        let life = rig.observes.take().expect("it is observed again");
        rig.on(Event::Identified(life, seen()));
        rig.step(WELL);
        assert_eq!((rig.machine.snapshot(rig.now).identity, rig.observes), (Some(seen()), None), "{gone:?}");
    }
    // One that is too busy to answer is the same.
    let mut rig = Rig::up(setup(&PLAIN), status(200));
    let life = rig.observes.take().expect("it is observed");
    rig.on(Event::Identified(life, seen()));
    for _ in 0..4 {
        rig.see(reach(Reach::Silent));
    }
    assert_eq!(rig.engine(), "unhealthy silent");
    rig.step(WELL);
    assert_eq!((rig.machine.snapshot(rig.now).identity, rig.observes), (Some(seen()), None));
}
