//! Do the played engines behave as engines.md says that the real ones do? Each is a process, asked over its port.

use std::path::Path;

use spillway_conformance::expect::Verdict;
use spillway_conformance::stage::client::{Client, Received, Request};
use spillway_conformance::stage::pipe::Address;
use spillway_conformance::stage::program::resident_kib;
use spillway_conformance::stage::sample::{self, Surface};
use spillway_conformance::stage::wrapped::{Wrap, Wrapped};
use spillway_conformance::stage::{Bench, Binaries};

/// An engine without shim or sidecar.
fn engine(wrap: Wrap) -> Verdict<Wrapped> {
    let engine = Path::new(env!("CARGO_BIN_EXE_spillway-conformance"));
    Bench::new(&Binaries::beside(engine)).wrapped(wrap)
}

async fn get(address: &Address, path: &str) -> Verdict<Received> {
    Client::connect(address).await?.ask(&Request::get(path)).await
}

async fn post(address: &Address, path: &str, body: &str) -> Verdict<Received> {
    Client::connect(address).await?.ask(&Request::post(path, body)).await
}

#[tokio::test]
async fn vllm_refuses_connections_until_it_has_loaded_and_sleeps_in_developer_mode_only() -> Verdict {
    let mut engine = engine(Wrap::vllm().engine(&["--weights-mb", "64"]))?;
    let load = engine.director.hold("load");
    engine.start_engine()?;
    load.reached().await?;
    let at = engine.engine();
    assert!(Client::connect(&at).await.is_err(), "a bound port that nobody listens on refuses");
    load.open();
    engine.director.until("ready", 1).await?;
    get(&at, "/health").await?.is(200)?.carries(b"")?;
    post(&at, "/v1/chat/completions", &sample::chat_body("org/chat").to_string()).await?.is(200)?;
    let id = engine.director.engine()?;
    let awake = resident_kib(id).unwrap_or_default();
    assert_eq!(get(&at, "/is_sleeping").await?.json()?["is_sleeping"], false);
    post(&at, "/sleep?level=1", "").await?.is(200)?;
    assert_eq!(get(&at, "/is_sleeping").await?.json()?["is_sleeping"], true);
    let asleep = resident_kib(id).unwrap_or_default();
    assert!(awake > 64 * 1024 && asleep + 60 * 1024 < awake, "{awake} KiB awake, {asleep} KiB asleep");
    post(&at, "/v1/chat/completions", &sample::chat_body("org/chat").to_string()).await?.is(500)?;
    post(&at, "/wake_up", "").await?.is(200)?;
    assert!(resident_kib(id).unwrap_or_default() > 64 * 1024);
    assert_eq!((engine.director.count("executed"), engine.director.count("called asleep")), (1, 1));
    Ok(())
}

#[tokio::test]
async fn vllm_outside_developer_mode_has_no_sleep() -> Verdict {
    let mut engine = engine(Wrap::vllm().env("VLLM_SERVER_DEV_MODE", "0"))?;
    engine.start_engine()?;
    engine.director.until("ready", 1).await?;
    post(&engine.engine(), "/sleep", "").await?.is(404)?;
    get(&engine.engine(), "/is_sleeping").await?.is(404)?;
    Ok(())
}

#[tokio::test]
async fn tei_refuses_what_is_too_much_and_finishes_what_it_has() -> Verdict {
    let mut engine = engine(Wrap::tei().engine(&["--max-concurrent-requests", "1", "--exit-code", "7"]))?;
    let middle = engine.director.hold("token");
    engine.start_engine()?;
    engine.director.until("ready", 1).await?;
    let at = engine.engine();
    let mut slow = Client::connect(&at).await?;
    slow.send(Request::post("/v1/embeddings", r#"{"model":"org/embed","input":"slowly"}"#).bytes()).await?;
    middle.reached().await?;
    let full = post(&at, "/v1/embeddings", r#"{"model":"org/embed","input":"quick"}"#).await?;
    full.is(429)?.carries(br#"{"code":429,"message":"Model is overloaded","type":"Overloaded"}"#)?;
    engine.loose()?.signal("TERM")?;
    engine.director.until("ending", 1).await?;
    assert!(Client::connect(&at).await.is_err(), "it takes nothing new");
    middle.open();
    slow.answer().await?.is(200)?;
    assert_eq!(engine.loose()?.exit().await?.code(), Some(7));
    Ok(())
}

async fn listed(address: &Address, list: &str) -> Verdict<String> {
    Ok(String::from_utf8_lossy(&get(address, list).await?.body).into_owned())
}

#[tokio::test]
async fn ollama_and_llama_swap_hold_a_call_until_its_model_is_loaded() -> Verdict {
    for (wrap, step, list, loading, loaded) in [
        // Its list does not tell a load that has begun from one that is done.
        (Wrap::ollama(), "load m:latest", "/api/ps", "m:latest", "m:latest"),
        (Wrap::llama_swap(), "load m", "/running", "\"starting\"", "\"ready\""),
    ] {
        let mut engine = engine(wrap)?;
        let load = engine.director.hold(step);
        engine.start_engine()?;
        engine.director.until("ready", 1).await?;
        let at = engine.engine();
        assert!(!listed(&at, list).await?.contains(loading), "nothing is loaded at first");
        let mut held = Client::connect(&at).await?;
        held.send(sample::request(Surface::Chat, "m").bytes()).await?;
        load.reached().await?;
        assert!(listed(&at, list).await?.contains(loading));
        load.open();
        held.answer().await?.is(200)?;
        assert!(listed(&at, list).await?.contains(loaded));
        assert_eq!((engine.director.count("held"), engine.director.count("loads")), (1, 1));
    }
    Ok(())
}

#[tokio::test]
async fn the_director_ends_an_engine_at_a_step_and_all_of_them_when_it_goes() -> Verdict {
    let mut crashing = engine(Wrap::vllm())?;
    crashing.director.exit("load", 3);
    crashing.start_engine()?;
    assert_eq!(crashing.loose()?.exit().await?.code(), Some(3));
    crashing.director.until("gone", 1).await?;

    let mut left = engine(Wrap::tei())?;
    left.start_engine()?;
    left.director.until("ready", 1).await?;
    left.director.leave();
    assert_eq!(left.loose()?.exit().await?.code(), Some(86), "an engine whose stage is gone ends");
    Ok(())
}
