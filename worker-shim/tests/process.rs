//! The engine's process, with real children. The reaper waits for every child of the program, so one test at a time runs: each holds `LOCK`.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use spillway_shim::output::Output;
use spillway_shim::process::{End, Process, Reaper};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::timeout;

static LOCK: Mutex<()> = Mutex::const_new(());

/// Longer than anything here takes.
const NET: Duration = Duration::from_secs(60);

/// What the children here say when they have come somewhere.
const SAYS: &[&str] = &["is"];

struct Stage {
    output: Arc<Output>,
    reaper: Reaper,
}

impl Stage {
    fn new() -> Self {
        Self { output: Output::new(SAYS), reaper: Reaper::new().expect("signals can be listened for") }
    }

    fn start(&self, script: &str) -> Process {
        Process::start(&["sh", "-c", script].map(OsString::from), &self.output).expect("there is a shell")
    }

    async fn ended(&mut self, process: &Process) -> End {
        timeout(NET, self.reaper.ended(process.id())).await.expect("it ends")
    }

    /// Waits until a child has written a line that begins so, and gives the rest of it.
    async fn said(&self, start: &str) -> String {
        let mut changed = self.output.changed();
        let search = async {
            loop {
                changed.borrow_and_update();
                let lines = self.output.lines();
                if let Some(rest) = lines.iter().find_map(|line| line.strip_prefix(start)) {
                    return rest.to_owned();
                }
                changed.changed().await.expect("the output is there");
            }
        };
        timeout(NET, search).await.expect("a child says so")
    }
}

/// Nothing is left to reap: no child and no zombie.
fn assert_no_child() {
    assert_eq!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Err(Errno::ECHILD));
}

#[tokio::test]
async fn an_end_is_seen_as_it_was() {
    let _alone = LOCK.lock().await;
    let mut stage = Stage::new();
    for (script, code, signal, exit_code) in
        [("exit 0", Some(0), None, 0), ("exit 7", Some(7), None, 7), ("kill -KILL $$", None, Some(9), 137)]
    {
        let process = stage.start(script);
        let end = stage.ended(&process).await;
        assert_eq!(end, End { code, signal });
        assert_eq!((end.exit_code(), end.is_fine()), (exit_code, code == Some(0)));
    }
    assert_no_child();
}

#[tokio::test]
async fn an_end_that_has_no_name_is_an_end() {
    let _alone = LOCK.lock().await;
    let mut stage = Stage::new();
    let process = stage.start("kill -40 $$");
    let end = stage.ended(&process).await;
    assert_eq!((end, end.exit_code(), end.is_fine()), (End { code: None, signal: None }, 1, false));
    assert_no_child();
}

#[tokio::test]
async fn a_wait_that_was_given_up_loses_no_end() {
    let _alone = LOCK.lock().await;
    let mut stage = Stage::new();
    let process = stage.start("trap 'exit 5' TERM; echo it is up; while :; do sleep 0.01; done");
    stage.said("it is up").await;
    tokio::select! {
        biased;
        end = stage.reaper.ended(process.id()) => panic!("it runs: {end:?}"),
        () = tokio::task::yield_now() => process.signal(Signal::SIGTERM),
    }
    // Its end comes while nobody waits: both its pipes are closed by it.
    let mut process = process;
    timeout(NET, process.drained()).await.expect("its output ends");
    assert_eq!(stage.ended(&process).await.code, Some(5));
    assert_no_child();
}

#[tokio::test]
async fn a_command_that_cannot_run_says_why() {
    let _alone = LOCK.lock().await;
    let output = Output::new(&[]);
    let file = tempfile::NamedTempFile::new().expect("a file");
    for (command, kind) in [
        (vec!["/nowhere/engine".into()], ErrorKind::NotFound),
        (vec!["no-engine-has-this-name".into()], ErrorKind::NotFound),
        (vec![file.path().into()], ErrorKind::PermissionDenied),
        (vec![], ErrorKind::InvalidInput),
    ] {
        let refused = Process::start(&command, &output).map(|process| process.id());
        assert_eq!(refused.map_err(|error| error.kind()), Err(kind), "{command:?}");
    }
    assert_no_child();
}

#[tokio::test]
async fn a_signal_reaches_the_whole_group() {
    let _alone = LOCK.lock().await;
    let mut stage = Stage::new();
    let mut process = stage.start(
        "trap 'wait; exit 3' TERM
         sh -c 'trap \"echo the worker is told; exit\" TERM; echo the worker is up; while :; do sleep 0.01; done' &
         wait",
    );
    stage.said("the worker is up").await;
    process.signal(Signal::SIGTERM);
    stage.said("the worker is told").await;
    assert_eq!(stage.ended(&process).await.code, Some(3));
    assert!(process.clear(&mut stage.reaper, NET).await);
    assert_no_child();
}

#[tokio::test]
async fn what_the_leader_leaves_is_asked_to_end() {
    let _alone = LOCK.lock().await;
    let mut stage = Stage::new();
    let mut process = stage.start("sleep 600 & sh -c 'sleep 600 & sleep 600' & exit 1");
    assert_eq!(stage.ended(&process).await.code, Some(1));
    assert!(timeout(NET, process.clear(&mut stage.reaper, 10 * NET)).await.expect("SIGTERM is enough"));
    assert_eq!(killpg(Pid::from_raw(process.id()), None), Err(Errno::ESRCH), "the group is empty");
    assert_no_child();
}

#[tokio::test]
async fn what_does_not_listen_is_killed() {
    let _alone = LOCK.lock().await;
    let mut stage = Stage::new();
    let mut process = stage.start("trap '' TERM; sh -c 'sleep 600 & sleep 600' & kill -KILL $$");
    assert_eq!(stage.ended(&process).await.signal, Some(9));
    // SIGTERM is ignored, so this gives up; asked again, it goes on with what is left of the first patience.
    let patience = Duration::from_millis(50);
    let gone = match timeout(Duration::ZERO, process.clear(&mut stage.reaper, patience)).await {
        Ok(gone) => gone,
        Err(_) => timeout(NET, process.clear(&mut stage.reaper, 10 * NET)).await.expect("its first patience counts"),
    };
    assert!(gone);
    assert_eq!(killpg(Pid::from_raw(process.id()), None), Err(Errno::ESRCH), "the group is empty");
    process.signal(Signal::SIGKILL);
    assert_no_child();
}

#[tokio::test]
async fn orphans_are_reaped_while_the_engine_runs() {
    let _alone = LOCK.lock().await;
    let mut stage = Stage::new();
    // `kill -0` finds a zombie too: the leader ends when its orphan has been reaped, which is nobody's duty but ours.
    let process = stage.start(
        "orphan=$(sleep 0.01 >/dev/null & echo $!)
         while kill -0 $orphan 2>/dev/null; do sleep 0.01; done; exit 9",
    );
    assert_eq!(stage.ended(&process).await.code, Some(9));
    assert_no_child();
}

#[tokio::test]
async fn who_leaves_the_group_is_ended_too() {
    let _alone = LOCK.lock().await;
    // The second one listens to no SIGTERM, and has a child that is ours only when it is gone.
    for (trap, patience) in [("true", 10 * NET), ("trap \"\" TERM", Duration::from_millis(50))] {
        let mut stage = Stage::new();
        let script = format!("setsid sh -c '{trap}; sleep 600 & echo it is $$; wait; sleep 600' & wait");
        let mut process = stage.start(&script);
        let stray: i32 = stage.said("it is ").await.parse().expect("an id");
        kill(Pid::from_raw(process.id()), Signal::SIGKILL).expect("the leader is our child");
        assert_eq!(stage.ended(&process).await.signal, Some(9));
        assert!(timeout(NET, process.clear(&mut stage.reaper, patience)).await.expect("it ends"), "{trap}");
        assert_eq!(kill(Pid::from_raw(stray), None), Err(Errno::ESRCH), "{trap}");
        assert_no_child();
    }
}

#[tokio::test]
async fn who_leaves_the_group_and_holds_the_pipe_holds_nothing_up() {
    let _alone = LOCK.lock().await;
    // A child from before: others outside the group may be its, so they are left alone.
    let mut other = Command::new("sleep").arg("600").spawn().expect("a child");
    let mut stage = Stage::new();
    let mut process = stage.start("setsid sh -c 'echo it is $$; exec sleep 600' & wait");
    let stranger: i32 = stage.said("it is ").await.parse().expect("an id");
    kill(Pid::from_raw(process.id()), Signal::SIGKILL).expect("the leader is our child");
    assert_eq!(stage.ended(&process).await.signal, Some(9));
    assert!(timeout(NET, process.clear(&mut stage.reaper, 10 * NET)).await.expect("it is not of the group"));
    let waited = timeout(Duration::ZERO, process.drained()).await;
    assert!(waited.is_err(), "somebody can still write");
    // When it ends by itself, it is reaped though no engine runs.
    kill(Pid::from_raw(stranger), Signal::SIGTERM).expect("it lives, and is an orphan of ours");
    timeout(NET, process.drained()).await.expect("nobody can write any more");
    let reaped = async {
        while kill(Pid::from_raw(stranger), None).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let both = async {
        tokio::select! { never = stage.reaper.reap() => never, () = reaped => {} }
    };
    timeout(NET, both).await.expect("the orphan is reaped");
    other.kill().expect("it lives");
    other.wait().expect("it is our child");
    assert_no_child();
}

#[tokio::test]
async fn the_last_lines_and_the_progress_are_kept() {
    let _alone = LOCK.lock().await;
    let mut stage = Stage::new();
    let mut process = stage.start("printf 'it is 10%%\\rit is 20%%\\r'; echo this went wrong >&2; printf 'the end'");
    assert_eq!(stage.ended(&process).await.code, Some(0));
    timeout(NET, process.drained()).await.expect("all writers have ended");
    let mut lines = stage.output.lines();
    lines.sort();
    assert_eq!(lines, ["the end", "this went wrong"]);
    assert!(stage.output.progress().is_some());
    stage.output.begin();
    assert_eq!(stage.output.progress(), None);
}

/// Set for a second run of this program, which then only passes a child's output through.
const ROLE: &str = "SPILLWAY_TEST_PASSES_THROUGH";

#[tokio::test]
async fn the_bytes_of_both_streams_come_out_untouched() {
    let _alone = LOCK.lock().await;
    if std::env::var_os(ROLE).is_some() {
        let mut stage = Stage::new();
        let mut process = stage.start("printf '[\\000\\377\\200\\r\\n\\033[1m]'; printf '[\\376\\r\\201]' >&2");
        assert!(stage.ended(&process).await.is_fine());
        return timeout(NET, process.drained()).await.expect("all writers have ended");
    }
    let name = "the_bytes_of_both_streams_come_out_untouched";
    let program = std::env::current_exe().expect("this program");
    let run = Command::new(program).args(["--exact", name, "--nocapture"]).env(ROLE, "1").stdin(Stdio::null()).output();
    let run = run.expect("this program runs");
    assert!(run.status.success());
    let has = |all: &[u8], part: &[u8]| all.windows(part.len()).any(|window| window == part);
    assert!(has(&run.stdout, b"[\0\xff\x80\r\n\x1b[1m]"), "{}", run.stdout.escape_ascii());
    assert!(has(&run.stderr, b"[\xfe\r\x81]"), "{}", run.stderr.escape_ascii());
}
