//! What do people ask of a shim that runs, and what are they shown?

use super::Stop;
use super::arguments::{Output, Question};
use super::caller::{Answer, Caller, Changes, snapshot};
use super::screen::{self, plain};
use crate::config::Address;
use hyper::Method;
use serde_json::Value;
use spillway_filters::feed::{Condition, Snapshot, State, Why, Wish, paths};
use std::io::Write;
use std::time::{Duration, Instant};

/// How often a shim is asked whether its engine sleeps by now: on the way down it is already said to sleep, so that no request is sent.
const SLEEP_LOOK: Duration = Duration::from_millis(500);

/// A sleep that is given up sooner did not wait for requests: then the engine cannot, and asked once more the shim says why. One that waited is not
/// tried again, since callers are refused meanwhile.
const QUICK: Duration = Duration::from_secs(5);

/// Where to look when the engine did not do it.
const LAST_LINES: &str = "`spillway-shim status` shows the engine's last lines";
/// What a load of the engine alone comes to where its models are loaded one by one.
const NO_MODEL_NAMED: &str = "the engine takes requests; to load a model, name it: `spillway-shim load MODEL`";
/// Codes of refusals that the engine's own words explain.
const ON_THE_ENGINES_SIDE: [&str; 2] = ["LOAD_FAILED", "ENGINE_UNHEALTHY"];

/// A question to a shim that runs.
#[derive(Clone, Debug)]
pub struct Ask {
    pub(super) socket: Address,
    pub(super) question: Question,
}

impl Ask {
    /// Asks, and writes what a person or a program is told.
    ///
    /// # Errors
    /// It was not done, or nobody answers.
    pub async fn run(&self, out: &mut impl Write) -> Result<(), Stop> {
        let caller = Caller::new(&self.socket);
        match &self.question {
            Question::Status { output } => status(&caller, *output, out).await,
            Question::Load { model } => load(&caller, model.as_deref(), out).await,
            Question::Sleep { model } => sleep(&caller, model.as_deref(), out).await,
        }
    }
}

async fn status(caller: &Caller<'_>, output: Output, out: &mut impl Write) -> Result<(), Stop> {
    let answer = told(caller.ask(Method::GET, paths::STATE, String::new()).await?)?;
    if output == Output::Json {
        say(out, &(String::from_utf8_lossy(&answer.body) + "\n"));
        return Ok(());
    }
    let log = told(caller.ask(Method::GET, paths::LOG, String::new()).await?)?;
    say(out, &screen::status(&snapshot(&answer.body)?, &String::from_utf8_lossy(&log.body)));
    Ok(())
}

async fn load(caller: &Caller<'_>, model: Option<&str>, out: &mut impl Write) -> Result<(), Stop> {
    let mut changes = caller.follow().await?;
    let mut now = snapshot(&wish(caller, paths::LOAD, model).await?.body)?;
    let (mut shown, mut began) = (String::new(), false);
    loop {
        let condition = condition(&now, model);
        let is_up = matches!(condition.state, State::Ready | State::Saturated);
        if is_up && model.is_none() && lists_models(&now) {
            say_once(out, &mut shown, NO_MODEL_NAMED);
            return Ok(());
        }
        show(out, &mut shown, &condition);
        match condition.state {
            _ if is_up => return Ok(()),
            State::Draining if now.engine.state == State::Draining => {
                return Err(Stop::failed("the shim is ending"));
            }
            _ if condition.why == Some(Why::LoadFailed) => {
                return Err(Stop::failed(format!("the load failed; {LAST_LINES}")));
            }
            State::Absent | State::Asleep if began => {
                return Err(Stop::failed(format!("the load was given up; {LAST_LINES}")));
            }
            State::Loading | State::Starting => began = true,
            State::Absent | State::Asleep | State::Draining | State::Unhealthy | State::Ready | State::Saturated => {}
        }
        now = newer(&mut changes, now.seq).await?;
    }
}

async fn sleep(caller: &Caller<'_>, model: Option<&str>, out: &mut impl Write) -> Result<(), Stop> {
    let mut changes = caller.follow().await?;
    let (mut shown, mut was_given_up, began) = (String::new(), false, Instant::now());
    loop {
        let answer = wish(caller, paths::SLEEP, model).await?;
        let now = snapshot(&answer.body)?;
        if answer.status == 200 {
            match condition(&now, model) {
                condition if condition.state == State::Ready => {
                    say_once(out, &mut shown, "no model is loaded any more")
                }
                condition => show(out, &mut shown, &condition),
            }
            return Ok(());
        }
        say_once(out, &mut shown, "waiting for requests in flight, and for the engine");
        if let Ok(woken) = tokio::time::timeout(SLEEP_LOOK, woken(&mut changes, now.seq, model)).await {
            woken?;
            if was_given_up || began.elapsed() > QUICK {
                return Err(Stop::failed("it was given up: requests were in flight for too long, or somebody woke it"));
            }
            was_given_up = true;
            say_once(out, &mut shown, "it was given up; it is tried once more");
        }
    }
}

/// Waits until what was on its way to sleep, at this snapshot, is not any more.
async fn woken(changes: &mut Changes<'_>, mut seq: u64, model: Option<&str>) -> Result<(), Stop> {
    loop {
        let next = newer(changes, seq).await?;
        if !rests(&next, model) {
            return Ok(());
        }
        seq = next.seq;
    }
}

/// Says a wish. The answer is 200 or 202.
async fn wish(caller: &Caller<'_>, path: &str, model: Option<&str>) -> Result<Answer, Stop> {
    let wish = Wish { model: model.map(str::to_owned) };
    let body = serde_json::to_string(&wish).expect("a wish is one text");
    told(caller.ask(Method::POST, path, body).await?)
}

/// The answer, if it is none that says no.
fn told(answer: Answer) -> Result<Answer, Stop> {
    if (200..300).contains(&answer.status) {
        return Ok(answer);
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let part = |name| body.pointer(name).and_then(Value::as_str).map(plain).unwrap_or_default();
    let code = part("/error/code");
    let mut text = format!("{} ({} {code})", part("/error/message"), answer.status);
    if let Some(seconds) = answer.retry_after {
        text += &format!("; ask again in {seconds} s");
    }
    if ON_THE_ENGINES_SIDE.contains(&&*code) {
        text += "; ";
        text += LAST_LINES;
    }
    Err(Stop::failed(text))
}

/// The next snapshot that is newer than this one: what the stream began with is older than the answer to a wish.
async fn newer(changes: &mut Changes<'_>, seq: u64) -> Result<Snapshot, Stop> {
    loop {
        let next = changes.next().await?;
        if next.seq > seq {
            return Ok(next);
        }
    }
}

/// What is known of a model; of the engine, where none is meant or the engine has only one.
fn condition(snapshot: &Snapshot, model: Option<&str>) -> Condition {
    let Some(model) = model else { return snapshot.engine.clone() };
    match (snapshot.models.get(model), snapshot.unlisted) {
        (Some(condition), _) => condition.clone(),
        (None, Some(unlisted)) => Condition::of(unlisted),
        (None, None) if snapshot.models.is_empty() => snapshot.engine.clone(),
        (None, None) => Condition::of(State::Absent),
    }
}

fn lists_models(snapshot: &Snapshot) -> bool {
    snapshot.unlisted.is_some() || !snapshot.models.is_empty()
}

/// Whether nothing that was meant holds memory: an engine whose models are unloaded one by one goes on taking requests.
fn rests(snapshot: &Snapshot, model: Option<&str>) -> bool {
    let gone = |state| matches!(state, State::Absent | State::Asleep | State::Draining);
    let mut models = snapshot.models.values();
    gone(condition(snapshot, model).state)
        || model.is_none()
            && !snapshot.models.is_empty()
            && models.all(|condition| gone(condition.state) || condition.state == State::Unhealthy)
}

fn show(out: &mut impl Write, shown: &mut String, condition: &Condition) {
    say_once(out, shown, &screen::condition(condition));
}

/// A line, unless it was the last one too.
fn say_once(out: &mut impl Write, shown: &mut String, line: &str) {
    if shown != line {
        say(out, &format!("{line}\n"));
        line.clone_into(shown);
    }
}

fn say(out: &mut impl Write, text: &str) {
    // Nobody is told when it is closed; what was asked for goes on.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
