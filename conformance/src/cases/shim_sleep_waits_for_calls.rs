//! Does a wish to sleep wait for what is being answered, and is nothing new begun meanwhile?

use crate::case::Case;
use crate::expect::{During, Verdict, contains, same};
use crate::stage::client::Request;
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::traffic::{Served, Traffic};
use crate::stage::wrapped::{Wrap, Wrapped};
use crate::stage::{Bench, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_sleep_waits_for_calls",
    clause: "a wish to sleep is carried out when the last stream has ended; a call before that is refused or bridged and calls it off; none is reset or runs twice",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::vllm())?;
    wrapped.start()?;
    wrapped.until_state("ready").await?;
    let stage = bench.stage(wrapped.beside(Setup::new().hybrid("org/chat").local("org/near"))).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut traffic = Traffic::new(&stage);
    under_a_stream(&wrapped, &mut traffic).await.during("under a stream")?;
    for model in ["org/chat", "org/near"] {
        called_off(&wrapped, &mut traffic, model).await.during(&format!("called off by {model}"))?;
    }
    for round in 0..8 {
        under_calls(&wrapped, &mut traffic).await.during(&format!("round {round}"))?;
    }
    let told = wrapped.director.told();
    let early = |line: &&String| line.starts_with("slept") && line.as_str() != "slept under 0";
    same("sleeps under a call", &told.iter().find(early), &None)?;
    same("calls while it slept", &wrapped.director.count("called asleep"), &0)?;
    traffic.each_once(&wrapped.director).await
}

/// The sleep waits for the stream, which is not touched.
async fn under_a_stream(wrapped: &Wrapped, traffic: &mut Traffic<'_>) -> Verdict {
    let director = &wrapped.director;
    let middle = director.hold("token");
    let mut stream = traffic.slow_stream("org/chat").await?;
    wrapped.ask(Request::post("/sleep", "")).await?.is(202)?;
    let told = wrapped.until_state("asleep").await?;
    same("why", &told["engine"]["why"], &"asked".into())?;
    same("sleeps", &director.count("slept"), &0)?;
    middle.open();
    contains("the rest of the stream", &stream.events().await?.concat(), "[DONE]")?;
    director.until("slept", 1).await?;
    traffic.until(&chat("org/chat"), &Served::Local).await
}

/// While the stream is still there, the next call is refused or bridged, and calls the sleep off.
async fn called_off(wrapped: &Wrapped, traffic: &mut Traffic<'_>, model: &str) -> Verdict {
    let director = &wrapped.director;
    let middle = director.hold("token");
    let sleeps = director.count("slept");
    let mut stream = traffic.slow_stream("org/chat").await?;
    wrapped.ask(Request::post("/sleep", "")).await?.is(202)?;
    if model == "org/chat" {
        traffic.until(&chat(model), &Served::Remote("model_loading".to_owned())).await?;
    } else {
        let refused = traffic.until_refused(&chat(model)).await?;
        refused.is(503)?.openai_code("MODEL_LOADING")?.local()?;
    }
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    wrapped.until_state("ready").await?;
    middle.open();
    contains("the rest of the stream", &stream.events().await?.concat(), "[DONE]")?;
    same("sleeps", &director.count("slept"), &sleeps)
}

/// Calls that race with a wish to sleep: each is served, here before it or elsewhere after it, and wakes the engine again.
async fn under_calls(wrapped: &Wrapped, traffic: &mut Traffic<'_>) -> Verdict {
    traffic.local(&chat("org/chat")).await?;
    let before = wrapped.director.count("slept");
    let wish = wrapped.ask(Request::post("/sleep", ""));
    let (asked, elsewhere) = (chat("org/chat"), Served::Remote("model_loading".to_owned()));
    let call = traffic.until(&asked, &elsewhere);
    let (wished, called) = tokio::join!(wish, call);
    wished?.is(202)?;
    called?;
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    same("sleeps", &(wrapped.director.count("slept") <= before + 1), &true)
}
