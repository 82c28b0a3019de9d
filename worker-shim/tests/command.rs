//! What the command line means, what is said of its mistakes, and what people are shown.

#[path = "command/shim.rs"]
mod shim;

use shim::{Shim, Shown, asked, loading, snapshot};
use spillway_filters::feed::{Condition, Identity, Snapshot, State, Why};
use spillway_filters::presets::{NAMES, preset};
use spillway_shim::asked::{Asked, Refused, Reply};
use spillway_shim::command::{self, Command, Stop};
use spillway_shim::config::Config;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;
use tokio::task::JoinHandle;

const NO_VARIABLES: &[(&str, &str)] = &[];

fn read(line: &[&str], variables: &[(&str, &str)]) -> Result<Command, Stop> {
    let environment = |name: &str| variables.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).into());
    command::read(["spillway-shim"].iter().chain(line).map(OsString::from), &environment)
}

fn config(line: &str, variables: &[(&str, &str)]) -> Config {
    let line: Vec<&str> = line.split_whitespace().collect();
    match read(&line, variables) {
        Ok(Command::Wrap(config)) => *config,
        other => panic!("{line:?} became {other:?}"),
    }
}

fn mistake(line: &str, variables: &[(&str, &str)]) -> String {
    let line: Vec<&str> = line.split_whitespace().collect();
    let stop = read(&line, variables).expect_err("it is a mistake");
    assert_eq!(stop.code, 2, "{line:?}: {}", stop.text);
    stop.text
}

#[test]
fn what_is_left_out_has_a_default() {
    let config = config("--preset vllm -- serve it", NO_VARIABLES);
    assert_eq!(config.preset.name, "vllm");
    assert_eq!(config.engine.to_string(), "http://127.0.0.1:8000");
    assert_eq!(config.socket.to_string(), "unix:/run/spillway/shim.sock");
    assert_eq!(config.socket_mode, 0o600);
    assert_eq!(config.command, ["serve", "it"]);
    assert_eq!((config.idle_sleep, config.max_waiting), (None, None));
    assert_eq!((config.drain, config.stop), (Duration::from_secs(30), Duration::from_secs(10)));
    assert!(config.api_key.is_none());
}

#[test]
fn every_flag_is_meant() {
    let config = config(
        "--preset sglang --engine unix:/run/engine.sock --socket 127.0.0.1:9903 --socket-mode 0660 --idle-sleep-s 0.25 \
         --max-waiting 8 --drain-s 1.5 --stop-s 0 --api-key-secret KEY -- sie-server --preset vllm --socket x",
        &[("KEY", "secret-7")],
    );
    assert_eq!(config.preset.name, "sglang");
    assert_eq!(config.engine.to_string(), "unix:/run/engine.sock");
    assert_eq!(config.socket.to_string(), "http://127.0.0.1:9903");
    assert_eq!(config.socket_mode, 0o660);
    assert_eq!(config.command, ["sie-server", "--preset", "vllm", "--socket", "x"], "flags of the engine are its own");
    assert_eq!((config.idle_sleep, config.max_waiting), (Some(Duration::from_millis(250)), Some(8)));
    assert_eq!((config.drain, config.stop), (Duration::from_millis(1_500), Duration::ZERO));
    assert_eq!(config.api_key.as_ref().map(|key| &*key.0), Some("secret-7"));
    assert!(!format!("{config:?}").contains("secret-7"));
}

#[test]
fn the_engine_is_where_it_is_said_to_be_or_where_its_command_puts_it() {
    for (line, wanted) in [
        ("--engine http://127.0.0.1:81 -- e --port 82", "http://127.0.0.1:81"),
        ("--engine http://[::1]:81/ -- e", "http://[::1]:81"),
        ("--engine engine.pod:81", "http://engine.pod:81"),
        ("--engine unix:/run/e.sock", "unix:/run/e.sock"),
        ("-- e --port 82", "http://127.0.0.1:82"),
        ("-- e --port=83", "http://127.0.0.1:83"),
        ("-- e", "http://127.0.0.1:8000"),
    ] {
        assert_eq!(config(&format!("--preset vllm {line}"), NO_VARIABLES).engine.to_string(), wanted, "{line}");
    }
}

#[test]
fn each_engine_is_known_by_its_own_command() {
    for preset in NAMES.iter().filter_map(|name| preset(name)) {
        for program in preset.launch.programs {
            let sign = preset.launch.only_with.iter().find(|sign| !sign.starts_with('$')).copied();
            let flags = sign.map(|sign| format!("{sign} x")).unwrap_or_default();
            for line in [
                format!("{program} {flags}"),
                format!("/opt/bin/{program} {flags}"),
                format!("python3 -m {program} {flags}"),
            ] {
                let config = config(&format!("-- {line}"), NO_VARIABLES);
                assert_eq!(config.preset.name, preset.name, "{line}");
                assert_eq!(config.engine.to_string(), format!("http://127.0.0.1:{}", preset.port), "{line}");
            }
        }
    }
}

#[test]
fn an_engine_and_its_address_are_read_from_what_people_type() {
    for (line, variables, name, engine) in [
        ("vllm serve org/m --port 8081", NO_VARIABLES, "vllm", "http://127.0.0.1:8081"),
        ("python3 -m vllm.entrypoints.openai.api_server --model m", NO_VARIABLES, "vllm", "http://127.0.0.1:8000"),
        ("/usr/bin/python3.12 /opt/venv/bin/vllm serve m --port=82", NO_VARIABLES, "vllm", "http://127.0.0.1:82"),
        ("vllm serve m --host 127.0.0.2", NO_VARIABLES, "vllm", "http://127.0.0.2:8000"),
        ("vllm serve m --uds /run/vllm --port 82", NO_VARIABLES, "vllm", "unix:/run/vllm"),
        ("python -m sglang.launch_server --host :: --port 30001", NO_VARIABLES, "sglang", "http://127.0.0.1:30001"),
        ("llama-server -m m.gguf", NO_VARIABLES, "llama_cpp", "http://127.0.0.1:8080"),
        ("llama-server -m M --host 127.0.0.2 --port 8081", NO_VARIABLES, "llama_cpp", "http://127.0.0.2:8081"),
        ("llama-server -m m.gguf --host /run/l.sock", NO_VARIABLES, "llama_cpp", "unix:/run/l.sock"),
        (
            "llama-server",
            &[("LLAMA_ARG_MODEL", "m.gguf"), ("LLAMA_ARG_HOST", "127.0.0.2"), ("LLAMA_ARG_PORT", "83")],
            "llama_cpp",
            "http://127.0.0.2:83",
        ),
        ("llama-server --models-dir m --port 84", NO_VARIABLES, "llama_cpp_router", "http://127.0.0.1:84"),
        ("llama-swap -listen :8085 --config c.yaml", NO_VARIABLES, "llama_swap", "http://127.0.0.1:8085"),
        ("llama-swap -listen localhost:8085", NO_VARIABLES, "llama_swap", "http://localhost:8085"),
        (
            "text-embeddings-router --hostname 127.0.0.2 -p 3001",
            &[("HOSTNAME", "pod-7")],
            "tei",
            "http://127.0.0.2:3001",
        ),
        (
            "text-generation-launcher --model-id m",
            &[("PORT", "3002"), ("HOSTNAME", "pod-7")],
            "tgi",
            "http://127.0.0.1:3002",
        ),
        ("ollama serve", NO_VARIABLES, "ollama", "http://127.0.0.1:11434"),
        ("ollama serve", &[("OLLAMA_HOST", "0.0.0.0:11500")], "ollama", "http://127.0.0.1:11500"),
        ("ollama serve", &[("OLLAMA_HOST", "0.0.0.0")], "ollama", "http://127.0.0.1:11434"),
        ("ollama serve", &[("OLLAMA_HOST", "127.0.0.2")], "ollama", "http://127.0.0.2:11434"),
        ("ollama serve", &[("OLLAMA_HOST", ":11500")], "ollama", "http://127.0.0.1:11500"),
        ("ollama serve", &[("OLLAMA_HOST", "::1")], "ollama", "http://[::1]:11434"),
        ("ollama serve", &[("OLLAMA_HOST", "http://127.0.0.2:11500")], "ollama", "http://127.0.0.2:11500"),
        ("ollama serve", &[("OLLAMA_HOST", "http://127.0.0.2")], "ollama", "http://127.0.0.2:80"),
        ("local-ai run --address 127.0.0.2:8090", NO_VARIABLES, "localai", "http://127.0.0.2:8090"),
        ("local-ai run", &[("LOCALAI_ADDRESS", ":8090")], "localai", "http://127.0.0.1:8090"),
        ("infinity_emb v2", &[("INFINITY_HOST", "127.0.0.2")], "infinity", "http://127.0.0.2:7997"),
        ("python -m mlx_lm.server --host 127.0.0.2", NO_VARIABLES, "mlx", "http://127.0.0.2:8080"),
        ("tritonserver --http-address=127.0.0.2 --http-port=82", NO_VARIABLES, "triton", "http://127.0.0.2:82"),
        ("sie-server serve --host 127.0.0.2", NO_VARIABLES, "sie", "http://127.0.0.2:8080"),
    ] {
        let config = config(&format!("-- {line}"), variables);
        assert_eq!(config.preset.name, name, "{line}");
        assert_eq!(config.engine.to_string(), engine, "{line} {variables:?}");
    }
}

#[test]
fn a_mistake_says_how_to_mend_it() {
    for (line, wanted) in [
        (
            "",
            "error: which engine is it? Name the command that starts it behind `--`, or the preset of one that runs already:\n  \
             spillway-shim -- vllm serve org/model\n  spillway-shim --preset vllm --engine http://127.0.0.1:8000\n",
        ),
        (
            "vllm serve org/model",
            "error: `vllm` is none of status, load and sleep; an engine's command stands behind `--`:\n  \
             spillway-shim -- vllm …\n",
        ),
        (
            "--preset vllm status",
            "error: --preset says how to wrap an engine, and `status` asks a shim that runs: leave one of them out\n",
        ),
        (
            "--stop-s 1 load",
            "error: --stop-s says how to wrap an engine, and `load` asks a shim that runs: leave one of them out\n",
        ),
        (
            "--preset vllm -- e --port 0",
            "error: the engine's --port is no port from 1 to 65535, so the shim cannot find it: give it one, or say with \
             --engine where it listens:\n  spillway-shim --engine http://127.0.0.1:8000 -- …\n",
        ),
        (
            "--preset vllm -- e --host $HOST",
            "error: the engine's --host is no host that can be connected to, so the shim cannot find it: give it one, or say \
             with --engine where it listens:\n  spillway-shim --engine http://127.0.0.1:8000 -- …\n",
        ),
        (
            "--preset openai --idle-sleep-s 5",
            "error: --idle-sleep-s: an engine of the preset openai sleeps only by ending, and what the shim did not start \
             it does not end; leave the flag out, or let the shim start it:\n  \
             spillway-shim --idle-sleep-s 900 -- ENGINE ARGS\n",
        ),
        (
            "--preset ollama --max-waiting 8 -- e",
            "error: --max-waiting: an engine of the preset ollama does not say how many requests wait; leave the flag out, and \
             bound them with max_in_flight under [engine] in spillway.toml\n",
        ),
        (
            "--preset vllm --engine 127.0.0.1:9 --socket http://127.0.0.1:9",
            "error: --socket and --engine are the same address, http://127.0.0.1:9: change one of them\n",
        ),
        (
            "--preset vllm --engine https://e:1",
            "error: --engine: it is spoken to without TLS: write http://host:port\n",
        ),
        ("--preset vllm --engine e", "error: --engine: write http://host:port or unix:/path\n"),
        ("--preset vllm --engine e:0", "error: --engine: the port must be 1 to 65535\n"),
        ("--preset vllm --engine http://e:1/v1", "error: --engine: write http://host:port or unix:/path\n"),
        (
            "--preset vllm --engine http://user:pass@e:1",
            "error: --engine: it must not carry credentials: the key is named by --api-key-secret\n",
        ),
    ] {
        assert_eq!(mistake(line, NO_VARIABLES), wanted, "{line}");
    }
}

#[test]
fn a_word_in_the_wrong_place_is_sent_to_the_right_one() {
    for (line, wanted) in [
        (
            "-m x.gguf -- llama-server",
            "error: `-m` is no option of the shim; the engine's own flags stand behind `--` and the engine's program:\n  \
             spillway-shim -- ENGINE -m …\n",
        ),
        (
            "--port=8081 -- llama-server",
            "error: `--port` is no option of the shim (the nearest is `--preset`); the engine's own flags stand behind `--` and the \
             engine's program:\n  spillway-shim -- ENGINE --port …\n",
        ),
        (
            "--preste vllm -- e",
            "error: `--preste` is no option of the shim (the nearest is `--preset`); the engine's own flags stand behind `--` and the \
             engine's program:\n  spillway-shim -- ENGINE --preste …\n",
        ),
        (
            "-o json status",
            "error: `-o` is an option of `status`, and stands behind it:\n  spillway-shim status -o json\n",
        ),
        (
            "wake org/model",
            "error: `wake` is none of status, load and sleep: load wakes too, sleep unloads, and SIGTERM ends the shim and the \
             engine that it started\n",
        ),
    ] {
        assert_eq!(mistake(line, NO_VARIABLES), wanted, "{line}");
    }
}

#[test]
fn an_unknown_engine_is_asked_for_with_every_name_there_is() {
    let wanted = format!(
        "error: no engine is known by the command `my-engine` (shells, containers and other wrappers are not seen through): say \
         with --preset which one it is, out of {}, and with --engine where it listens:\n  \
         spillway-shim --preset NAME --engine URL -- …\n",
        NAMES.join(", ")
    );
    assert_eq!(mistake("-- /opt/my-engine --port 1", NO_VARIABLES), wanted);
}

#[test]
fn a_bad_value_names_its_flag_and_a_good_one() {
    for (line, flag, wanted) in [
        ("--preset vlm", "--preset <NAME>", "a similar value exists: 'vllm'"),
        ("--socket-mode 9", "--socket-mode <MODE>", "write three octal digits, such as 600"),
        ("--socket-mode 1777", "--socket-mode <MODE>", "write three octal digits, such as 600"),
        ("--drain-s soon", "--drain-s <SECONDS>", "write a number of seconds, such as 30 or 0.5"),
        ("--drain-s=-1", "--drain-s <SECONDS>", "write a number of seconds, such as 30 or 0.5"),
        ("--stop-s inf", "--stop-s <SECONDS>", "write a number of seconds, such as 30 or 0.5"),
        ("--stop-s 1e9", "--stop-s <SECONDS>", "write a number of seconds, such as 30 or 0.5"),
        ("--idle-sleep-s 0", "--idle-sleep-s <SECONDS>", "write more than 0 seconds"),
        ("--socket unix:shim.sock", "--socket <ADDRESS>", "write the socket's absolute path"),
        ("--socket shim", "--socket <ADDRESS>", "write unix:/path or http://127.0.0.1:9903"),
        ("--socket 0.0.0.0:9903", "--socket <ADDRESS>", "whoever reaches the shim can load models"),
    ] {
        let text = mistake(line, NO_VARIABLES);
        assert!(text.contains(flag) && text.contains(wanted), "{line}: {text}");
    }
}

#[test]
fn a_key_is_named_and_never_shown() {
    let line = "--preset vllm --api-key-secret sk-not-a-name";
    let mend = "export the engine's key in one, and write the variable's name here, not the key";
    let text = mistake(line, NO_VARIABLES);
    assert!(text.contains(mend) && !text.contains("sk-not-a-name"), "{text}");
    for (key, wanted) in
        [("", "is empty: set it to the engine's key"), ("two words", "no key has: set it to the bare key")]
    {
        let text = mistake("--preset vllm --api-key-secret KEY", &[("KEY", key)]);
        assert!(text.contains(wanted) && !text.contains("two words"), "{text}");
    }
}

#[test]
fn help_is_no_mistake_and_teaches() {
    for line in [&["--help"][..], &["status", "--help"], &["--version"]] {
        assert_eq!(read(line, NO_VARIABLES).expect_err("it is help").code, 0);
    }
    let help = read(&["--help"], NO_VARIABLES).expect_err("it is help").text;
    for wanted in ["spillway-shim -- vllm serve", "spillway-shim load", "Exit codes:", "llama_cpp_router"] {
        assert!(help.contains(wanted), "{wanted}: {help}");
    }
}

#[tokio::test]
async fn the_status_is_for_a_person_or_for_a_program() {
    let shim = Shim::new();
    let mut state = snapshot(4, State::Ready);
    state.models = BTreeMap::from([
        (
            "org/m".into(),
            Condition {
                ready_in_ms: Some(12_100),
                progress: Some("40%\u{1b}[2J".into()),
                ..Condition::of(State::Asleep)
            },
        ),
        ("other".into(), Condition { why: Some(Why::LoadFailed), ..Condition::of(State::Unhealthy) }),
    ]);
    (state.running, state.restarts) = (Some(3), 1);
    let parts = BTreeMap::from([("engine".into(), Some("vllm".into())), ("weights".into(), None)]);
    state.identity = Some(Identity { digest: None, parts });
    let json = serde_json::to_string(&state).expect("it renders");
    shim.publish(state);
    let wanted = "vllm: ready\n  running: 3\n  restarts: 1\nmodels\n  \
                  org/m: asleep, a load takes about 13 s: 40%\u{fffd}[2J\n  \
                  other: unhealthy (a load failed, and none is tried for a while)\n\
                  identity: not all of it is known\n  engine: vllm\n  weights: not known\n";
    assert_eq!(shim.ask(&["status"]).await, (Ok(()), wanted.to_owned()));
    assert_eq!(shim.ask(&["status", "-o", "json"]).await, (Ok(()), json + "\n"));
}

#[tokio::test]
async fn a_load_is_followed_until_it_is_ready() {
    let mut shim = Shim::new();
    let (done, mut shown) = shim.begin(&["load", "org/m"]);
    let Asked::Load(wish, reply) = asked(&mut shim.asked).await else { panic!("a load") };
    assert_eq!(wish.model.as_deref(), Some("org/m"));
    let mut state = snapshot(2, State::Ready);
    state.unlisted = Some(State::Absent);
    state.models.insert("org/m".into(), Condition { ready_in_ms: Some(9_000), ..loading() });
    shim.publish(state.clone());
    reply.send(Reply::Begun).expect("somebody waits");
    assert_eq!(shown.line().await, "loading, ready in about 9 s\n");
    let progress = Condition { ready_in_ms: Some(0), progress: Some("80%".into()), ..loading() };
    for (seq, condition, line) in
        [(3, progress, "loading, ready any moment: 80%\n"), (4, Condition::of(State::Ready), "ready\n")]
    {
        state.seq = seq;
        state.models.insert("org/m".into(), condition);
        shim.publish(state.clone());
        assert_eq!(shown.line().await, line);
    }
    assert_eq!(done.await.expect("it runs"), Ok(()));
}

#[tokio::test]
async fn a_load_that_is_done_says_so_at_once() {
    let mut shim = Shim::new();
    let (done, mut shown) = shim.begin(&["load"]);
    let Asked::Load(wish, reply) = asked(&mut shim.asked).await else { panic!("a load") };
    assert_eq!(wish.model, None);
    reply.send(Reply::Done).expect("somebody waits");
    assert_eq!(shown.line().await, "ready\n");
    assert_eq!(done.await.expect("it runs"), Ok(()));
}

#[tokio::test]
async fn a_load_of_no_model_says_that_one_must_be_named() {
    let mut models = snapshot(2, State::Ready);
    models.models.insert("org/m".into(), Condition::of(State::Absent));
    let unlisted = Snapshot { unlisted: Some(State::Absent), ..snapshot(2, State::Ready) };
    for state in [models, unlisted] {
        let mut shim = Shim::new();
        let (done, mut shown) = shim.begin(&["load"]);
        let Asked::Load(_, reply) = asked(&mut shim.asked).await else { panic!("a load") };
        shim.publish(state);
        reply.send(Reply::Done).expect("somebody waits");
        let wanted = "the engine takes requests; to load a model, name it: `spillway-shim load MODEL`\n";
        assert_eq!(shown.line().await, wanted);
        assert_eq!(done.await.expect("it runs"), Ok(()));
    }
}

#[tokio::test]
async fn a_load_that_comes_to_nothing_fails() {
    let failed = Condition { why: Some(Why::LoadFailed), ..Condition::of(State::Unhealthy) };
    for (end, wanted) in [
        (failed, "error: the load failed; `spillway-shim status` shows the engine's last lines\n"),
        (
            Condition::of(State::Asleep),
            "error: the load was given up; `spillway-shim status` shows the engine's last lines\n",
        ),
        (Condition::of(State::Draining), "error: the shim is ending\n"),
    ] {
        let mut shim = Shim::new();
        let (done, mut shown) = shim.begin(&["load"]);
        let Asked::Load(_, reply) = asked(&mut shim.asked).await else { panic!("a load") };
        shim.publish(snapshot(2, State::Starting));
        reply.send(Reply::Begun).expect("somebody waits");
        assert_eq!(shown.line().await, "starting\n");
        let mut state = snapshot(3, end.state);
        state.engine = end;
        shim.publish(state);
        assert_eq!(done.await.expect("it runs"), Err(Stop { text: wanted.into(), code: 1 }));
    }
}

#[tokio::test]
async fn a_wish_that_is_refused_is_a_failure_with_its_reason_and_what_helps() {
    let last_lines = "; `spillway-shim status` shows the engine's last lines";
    for (question, code, retry_after_s, hint) in [
        ("load", "NOT_LOADABLE", None, ""),
        ("load", "LOAD_FAILED", Some(42), &*format!("; ask again in 42 s{last_lines}")),
        ("load", "ENGINE_UNHEALTHY", None, last_lines),
        ("sleep", "BUSY", Some(1), "; ask again in 1 s"),
    ] {
        let mut shim = Shim::new();
        let (done, _shown) = shim.begin(&[question]);
        let (Asked::Load(_, reply) | Asked::Sleep(_, reply)) = asked(&mut shim.asked).await else { panic!("a wish") };
        let refused = Refused { status: 503, code, message: "It fails.", retry_after_s };
        reply.send(Reply::Refused(refused)).expect("somebody waits");
        let wanted = Stop { text: format!("error: It fails. (503 {code}){hint}\n"), code: 1 };
        assert_eq!(done.await.expect("it runs"), Err(wanted));
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleep_is_waited_for_until_it_is_true() {
    let mut shim = Shim::new();
    let (done, mut shown) = shim.begin(&["sleep"]);
    let mut asleep = snapshot(2, State::Asleep);
    asleep.engine.why = Some(Why::Asked);
    // It is said to sleep while requests are still in flight.
    for reply in [Reply::Begun, Reply::Begun, Reply::Done] {
        let Asked::Sleep(wish, answer) = asked(&mut shim.asked).await else { panic!("a sleep") };
        assert_eq!(wish.model, None);
        shim.publish(asleep.clone());
        answer.send(reply).expect("somebody waits");
    }
    assert_eq!(shown.line().await, "waiting for requests in flight, and for the engine\n");
    assert_eq!(shown.line().await, "asleep (somebody asked)\n");
    assert_eq!(done.await.expect("it runs"), Ok(()));
}

/// An engine that takes requests, and `org/m` is about to sleep.
fn on_its_way_down(seq: u64) -> Snapshot {
    let mut told = snapshot(seq, State::Ready);
    told.models.insert("org/m".into(), Condition::of(State::Draining));
    told
}

#[tokio::test]
async fn a_load_waits_for_a_model_that_is_on_its_way_down() {
    let mut shim = Shim::new();
    let (done, mut shown) = shim.begin(&["load", "org/m"]);
    let Asked::Load(_, reply) = asked(&mut shim.asked).await else { panic!("a load") };
    shim.publish(on_its_way_down(2));
    reply.send(Reply::Begun).expect("somebody waits");
    assert_eq!(shown.line().await, "draining\n");
    let mut ready = snapshot(3, State::Ready);
    ready.models.insert("org/m".into(), Condition::of(State::Ready));
    shim.publish(ready);
    assert_eq!(done.await.expect("it runs"), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_sleep_waits_for_a_model_that_is_on_its_way_down() {
    let mut shim = Shim::new();
    let (done, mut shown) = shim.begin(&["sleep", "org/m"]);
    let Asked::Sleep(_, reply) = asked(&mut shim.asked).await else { panic!("a sleep") };
    shim.publish(on_its_way_down(2));
    reply.send(Reply::Begun).expect("somebody waits");
    assert_eq!(shown.line().await, "waiting for requests in flight, and for the engine\n");
    shim.publish(on_its_way_down(3));
    let Asked::Sleep(_, reply) = asked(&mut shim.asked).await else { panic!("it asks again") };
    reply.send(Reply::Done).expect("somebody waits");
    assert_eq!(shown.line().await, "draining\n", "it was not given up");
    assert_eq!(done.await.expect("it runs"), Ok(()));
}

/// Asks for a sleep that begins and is given up as often as this.
async fn given_up(shim: &mut Shim, times: u64) -> (JoinHandle<Result<(), Stop>>, Shown) {
    let (done, mut shown) = shim.begin(&["sleep", "org/m"]);
    for time in 1..=times {
        let Asked::Sleep(wish, reply) = asked(&mut shim.asked).await else { panic!("a sleep") };
        assert_eq!(wish.model.as_deref(), Some("org/m"));
        shim.publish(snapshot(2 * time, State::Asleep));
        reply.send(Reply::Begun).expect("somebody waits");
        if time > 1 {
            assert_eq!(shown.line().await, "it was given up; it is tried once more\n");
        }
        assert_eq!(shown.line().await, "waiting for requests in flight, and for the engine\n");
        shim.publish(snapshot(2 * time + 1, State::Ready));
    }
    (done, shown)
}

#[tokio::test(start_paused = true)]
async fn a_sleep_that_is_given_up_twice_fails() {
    let mut shim = Shim::new();
    let (done, _shown) = given_up(&mut shim, 2).await;
    let stop = done.await.expect("it runs").expect_err("it was given up");
    assert_eq!(stop.text, "error: it was given up: requests were in flight for too long, or somebody woke it\n");
}

#[tokio::test(start_paused = true)]
async fn a_sleep_that_is_given_up_because_it_cannot_be_says_so() {
    let mut shim = Shim::new();
    let (done, _shown) = given_up(&mut shim, 1).await;
    let Asked::Sleep(_, reply) = asked(&mut shim.asked).await else { panic!("a sleep") };
    let refused = Refused { status: 501, code: "NO_SLEEP", message: "It has no such call.", retry_after_s: None };
    reply.send(Reply::Refused(refused)).expect("somebody waits");
    let stop = done.await.expect("it runs").expect_err("it cannot");
    assert_eq!(stop.text, "error: It has no such call. (501 NO_SLEEP)\n");
}

#[tokio::test]
async fn a_shim_that_is_not_there_or_ends_is_a_failure() {
    let mut shim = Shim::new();
    let (done, mut shown) = shim.begin(&["load"]);
    let Asked::Load(_, reply) = asked(&mut shim.asked).await else { panic!("a load") };
    shim.publish(snapshot(2, State::Loading));
    reply.send(Reply::Begun).expect("somebody waits");
    assert_eq!(shown.line().await, "loading\n");
    shim.end();
    let stop = done.await.expect("it runs").expect_err("nobody is there");
    assert_eq!((stop.text, stop.code), (format!("error: the shim at {} has ended\n", shim.address), 1));
    let (done, shown) = shim.ask(&["status"]).await;
    let stop = done.expect_err("nobody is there");
    assert!(stop.text.starts_with(&format!("error: no shim answers at {}: ", shim.address)), "{}", stop.text);
    assert_eq!((stop.code, &*shown), (1, ""));
}

#[test]
fn the_program_keeps_its_exit_codes_and_its_streams_apart() {
    let run = |line: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_spillway-shim")).args(line).output();
        let output = output.expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, out, err) = run(&["--version"]);
    assert_eq!((code, &*out, &*err), (Some(0), concat!("spillway-shim ", env!("CARGO_PKG_VERSION"), "\n"), ""));
    let (code, out, err) = run(&["--nonsense"]);
    assert_eq!((code, &*out), (Some(2), ""));
    assert!(err.starts_with("error: "), "{err}");
    let (code, out, err) = run(&["status", "--socket", "unix:/nowhere/shim.sock"]);
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(err.starts_with("error: no shim answers at unix:/nowhere/shim.sock"), "{err}");
}
