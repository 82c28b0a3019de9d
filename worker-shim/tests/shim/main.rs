//! The real shim around a real process: what follows it sees, and what becomes of the process.

mod engine;
mod rig;

use crate::engine::CONTROL;
use crate::rig::Shim;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spillway_filters::feed::{State, Why};
use std::io::Write as _;
use std::os::unix::net::{UnixListener, UnixStream};
use tempfile::TempDir;

/// Not a test: this binary as an engine, when a shim starts it.
#[test]
fn an_engine() {
    if let Some(control) = std::env::var_os(CONTROL) {
        engine::live(control.to_str().expect("a path"));
    }
}

#[test]
fn from_a_cold_start_to_ready_and_through_a_crash() {
    let shim = Shim::start(&[]);
    let mut engine = shim.engines.next();
    let mut follower = shim.follow("a");
    let first = follower.next().expect("the state at once");
    assert_eq!((first.engine.state, first.engine.why), (State::Loading, None));
    shim.make_ready(&mut engine, &mut follower);
    assert_eq!(shim.post("/load", ""), 200);

    engine.exit(3);
    let crashed = follower.until(State::Loading);
    assert_eq!(crashed.engine.why, Some(Why::Crashed));
    assert!(crashed.engine.ready_in_ms.is_some(), "the first load has taught it");
    assert_eq!(shim.post("/load", ""), 202);
    let mut engine = shim.engines.next();
    engine.tell("health 200");
    shim.listen(&mut engine);
    let restarts = follower.until(State::Ready).restarts;
    assert_eq!(restarts, 1);
    assert!(shim.engines.none_came(), "one crash, one start");
}

#[test]
fn a_crash_is_a_warning_that_says_when_it_is_started_again() {
    let (shim, engine, mut follower) = Shim::ready(&[]);
    engine.exit(3);
    follower.until(State::Loading);
    shim.signal(Signal::SIGTERM);
    shim.signal(Signal::SIGINT);
    let (_, log) = shim.ended();
    let ended: Vec<&str> = log.lines().filter(|line| line.contains("process has ended")).collect();
    assert!(ended[0].contains("\"WARN\"") && ended[0].contains("it is started again in 1 s"), "{log}");
    assert!(ended[0].contains("\"code\":3"), "{log}");
}

#[test]
fn an_engine_that_ends_well_ends_the_shim_with_code_0() {
    let (shim, engine, mut follower) = Shim::ready(&[]);
    engine.exit(0);
    while follower.next().is_some() {}
    assert_eq!(shim.ended().0, Some(0));
}

#[test]
fn what_cannot_be_started_is_said_with_what_helps() {
    let missing = Shim::around(&[], &["--", "/nowhere/engine"]);
    let (code, log) = missing.ended();
    assert!(code == Some(127) && log.contains("check its name and PATH"), "{code:?} {log}");
    let (code, log) = Shim::around(&[], &["--", "/dev/null"]).ended();
    assert!(code == Some(126) && log.contains("check its mode"), "{code:?} {log}");
}

#[test]
fn where_somebody_else_listens_nothing_is_started() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("engine");
    let listener = UnixListener::bind(&path).expect("a free path");
    let (code, log) = Shim::inside(folder, &[], &["--", "true"]).ended();
    assert!(code == Some(2) && log.contains("say with --engine where it really listens"), "{code:?} {log}");
    let first = log.lines().next().expect("a line");
    let engine = format!("\"engine\":\"unix:{}\"", path.display());
    assert!(first.contains("wrapping an engine") && first.contains("\"preset\":\"vllm\""), "{first}");
    assert!(first.contains(&engine), "{first}");
    drop(listener);
}

#[test]
fn the_engine_of_a_killed_shim_lives_and_the_next_shim_says_so() {
    let (shim, engine, _follower) = Shim::ready(&[]);
    let (code, log) = Shim::inside(shim.killed(), &[], &["--", "true"]).ended();
    assert!(code == Some(2) && log.contains("perhaps the engine of a shim that was killed"), "{code:?} {log}");
    kill(Pid::from_raw(engine.pid), Signal::SIGTERM).expect("it lives");
    engine.gone();
}

#[test]
fn as_the_first_process_it_reaps_orphans_and_ends_with_its_engines_code() {
    // The inner shell is gone before what it started is waited for; what nobody reaps stays in /proc.
    let script = "trap 'exit 7' TERM; orphan=$(sh -c 'true & echo $!'); while [ -e /proc/$orphan ]; do :; done; \
                  echo $$ of $PPID has no orphan; while :; do sleep 1000 & wait $!; done";
    let shim = Shim::first(&["--", "sh", "-c", script]);
    let mut follower = shim.follow("a");
    let seq = follower.next().expect("the state at once").seq;
    shim.until_log("of 1 has no orphan");
    shim.say(&follower, seq, 1);
    shim.signal(Signal::SIGTERM);
    let draining = follower.until(State::Draining);
    assert_eq!(shim.post("/load", ""), 503);
    shim.say(&follower, draining.seq, 0);
    while follower.next().is_some() {}
    assert_eq!(shim.ended().0, Some(7));
}

#[test]
fn where_somebody_else_listens_meanwhile_nothing_is_started_again() {
    let (shim, engine, mut follower) = Shim::ready(&[]);
    assert_eq!(shim.post("/sleep", ""), 202);
    let asleep = follower.until(State::Asleep);
    shim.say(&follower, asleep.seq, 0);
    engine.gone();
    // It says what a well engine says.
    let path = shim.folder.path().join("engine");
    engine::beside(&path);
    assert_eq!(shim.post("/load", ""), 202);
    while follower.until(State::Loading).engine.why != Some(Why::Crashed) {}
    assert!(shim.engines.none_came());
    // It goes, as far as anybody can see.
    std::fs::remove_file(&path).expect("it is there");
    let mut engine = shim.engines.next();
    shim.make_ready(&mut engine, &mut follower);
}

#[test]
fn sigterm_waits_for_requests_and_then_gives_the_engine_its_signal() {
    let (shim, engine, mut follower) = Shim::ready(&[]);
    shim.say(&follower, 0, 1);
    shim.signal(Signal::SIGTERM);
    let draining = follower.until(State::Draining);
    assert_eq!(shim.post("/load", ""), 503);
    kill(Pid::from_raw(engine.pid), None).expect("the engine lives: a request is under way");
    shim.say(&follower, draining.seq, 0);
    while follower.next().is_some() {}
    let id = Pid::from_raw(engine.pid);
    assert_eq!(shim.ended().0, Some(128 + Signal::SIGTERM as i32));
    assert_eq!(kill(id, None), Err(Errno::ESRCH), "the engine is gone");
}

#[test]
fn a_second_signal_waits_for_nobody() {
    let (shim, engine, mut follower) = Shim::ready(&[]);
    shim.say(&follower, 0, 1);
    shim.signal(Signal::SIGTERM);
    follower.until(State::Draining);
    shim.signal(Signal::SIGINT);
    engine.gone();
    assert_eq!(shim.ended().0, Some(128 + Signal::SIGINT as i32));
}

#[test]
fn other_signals_go_to_the_engine_and_do_nothing_to_the_shim() {
    let script = "trap 'exit 0' USR2; trap '' USR1; echo up; sleep 1000 & wait";
    let shim = Shim::around(&[], &["--", "sh", "-c", script]);
    let mut follower = shim.follow("a");
    follower.next().expect("it runs");
    shim.until_log("up");
    shim.signal(Signal::SIGUSR1);
    shim.signal(Signal::SIGUSR2);
    // What the shell leaves behind goes too, or this would wait for it.
    assert_eq!(shim.ended().0, Some(0));
}

#[test]
fn an_engine_that_dies_of_a_signal_for_it_ends_the_shim() {
    let shim = Shim::around(&[], &["--", "sh", "-c", "echo up; exec sleep 1000"]);
    shim.until_log("up");
    shim.signal(Signal::SIGUSR1);
    assert_eq!(shim.ended().0, Some(128 + Signal::SIGUSR1 as i32));
}

#[test]
fn under_nohup_hangups_stay_ignored() {
    let shim = Shim::without_hangups(&["--", "sh", "-c", "echo up; exec sleep 1000"]);
    shim.until_log("up");
    let ignored = u64::from_str_radix(&shim.status("SigIgn"), 16).expect("a mask");
    assert_eq!(ignored & 1, 1, "{ignored:x}");
    shim.signal(Signal::SIGHUP);
    shim.signal(Signal::SIGTERM);
    assert_eq!(shim.ended().0, Some(128 + Signal::SIGTERM as i32));
}

#[test]
fn it_sleeps_by_a_call_and_wakes_by_a_wish() {
    let (shim, mut engine, mut follower) = Shim::ready(&[]);
    engine.tell("can_sleep");
    assert_eq!(shim.post("/sleep", "{}"), 202);
    let asleep = follower.until(State::Asleep);
    assert_eq!(asleep.engine.why, Some(Why::Asked));
    shim.say(&follower, asleep.seq, 0);
    engine.tell("until_asleep");
    assert_eq!(shim.post("/load", ""), 202);
    follower.until(State::Loading);
    follower.until(State::Ready);
    assert!(shim.engines.none_came(), "it is the same process");
}

#[test]
fn where_no_call_does_it_the_process_ends_and_a_wish_starts_another() {
    let (shim, engine, mut follower) = Shim::ready(&[]);
    assert_eq!(shim.post("/sleep", ""), 202);
    let asleep = follower.until(State::Asleep);
    shim.say(&follower, asleep.seq, 0);
    engine.gone();
    assert_eq!(shim.post("/load", r#"{"model":"m"}"#), 202);
    let mut engine = shim.engines.next();
    shim.make_ready(&mut engine, &mut follower);
}

#[test]
fn where_no_engine_runs_there_is_none_to_end() {
    let (shim, engine, mut follower) = Shim::ready(&[]);
    assert_eq!(shim.post("/sleep", ""), 202);
    let asleep = follower.until(State::Asleep);
    shim.say(&follower, asleep.seq, 0);
    engine.gone();
    shim.until(|shim| shim.post("/sleep", "") == 200);
    shim.signal(Signal::SIGTERM);
    while follower.next().is_some() {}
    let (code, log) = shim.ended();
    assert!(code == Some(0) && log.contains("its engine was not running"), "{code:?} {log}");
}

#[test]
fn an_idle_engine_is_put_to_sleep() {
    let (shim, mut engine, mut follower) = Shim::ready(&["--idle-sleep-s", "0.1"]);
    engine.tell("can_sleep");
    // As long as it does not say that it sends nothing, it may.
    shim.say(&follower, 0, 0);
    let asleep = follower.until(State::Asleep);
    assert_eq!(asleep.engine.why, Some(Why::Idle));
    shim.say(&follower, asleep.seq, 0);
    engine.tell("until_asleep");
}

#[test]
fn a_flag_that_the_engine_gives_nothing_to_go_by_is_a_warning() {
    // It tells what runs, and not what waits.
    let (shim, _engine, _follower) = Shim::ready(&["--max-waiting", "3", "--idle-sleep-s", "1000"]);
    shim.signal(Signal::SIGTERM);
    shim.signal(Signal::SIGINT);
    let (_, log) = shim.ended();
    assert!(log.contains("--max-waiting has no effect") && !log.contains("--idle-sleep-s counts"), "{log}");
}

#[test]
fn a_watched_engine_is_told_of_and_never_ended() {
    let shim = Shim::around(&[], &[]);
    let mut follower = shim.follow("a");
    assert_eq!(follower.next().expect("the state at once").engine.state, State::Absent);
    assert_eq!(shim.post("/load", ""), 503);
    engine::beside(&shim.folder.path().join("engine"));
    follower.until(State::Ready);
    shim.signal(Signal::SIGTERM);
    follower.until(State::Draining);
    while follower.next().is_some() {}
    let (code, log) = shim.ended();
    assert!(code == Some(0) && log.contains("the engine that it watched is left alone"), "{code:?} {log}");
    assert!(log.contains("watching an engine") && !log.contains("the engine has ended"), "{log}");
}

#[test]
fn whoever_reads_its_log_may_stand_still_or_go() {
    let (mut full, reader) = UnixStream::pair().expect("a pair");
    full.set_nonblocking(true).expect("a socket");
    while full.write(&[b'x'; 4_096]).is_ok() {}
    full.set_nonblocking(false).expect("a socket");
    let (gone, _) = UnixStream::pair().expect("a pair");
    for stderr in [full, gone] {
        let shim = Shim::logging_to(stderr.into());
        let mut engine = shim.engines.next();
        let mut follower = shim.follow("a");
        shim.make_ready(&mut engine, &mut follower);
        engine.exit(3);
        let mut engine = shim.engines.next();
        shim.make_ready(&mut engine, &mut follower);
        shim.say(&follower, 0, 0);
        shim.signal(Signal::SIGTERM);
        let draining = follower.until(State::Draining);
        shim.say(&follower, draining.seq, 0);
        assert_eq!(shim.ended().0, Some(128 + Signal::SIGTERM as i32));
    }
    drop(reader);
}
