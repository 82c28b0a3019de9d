//! A preset as tables in Markdown.

use spillway_filters::presets::{Already, Call, How, Listens, ModelList, Origin, Preset, Queue, Sleep, Wake};
use spillway_filters::refusal::{Claim, Phase, Rule, Veiled};
use std::borrow::Cow;
use std::fmt::Write;

/// Stands in front of what nobody has seen run.
pub(crate) const UNSEEN: &str = "○";
const SEEN: &str = "●";

/// Everything that a preset says.
pub(crate) fn of(preset: &Preset) -> String {
    let (seen, all) = (preset.origins().filter(|origin| origin.is_seen()).count(), preset.origins().count());
    let mut page = format!("\n`preset = \"{}\"`, port {}. ", preset.name, preset.port);
    if all > 0 {
        write!(page, "Seen to run: {seen} of {all} rows. ").unwrap();
    }
    page += match preset.watch.listens {
        Listens::First => "It listens before it loads.",
        Listens::Loaded => "It listens when it has loaded: until then its connections are refused.",
    };
    if preset.watch.models.is_some_and(|list| list.gates) {
        page +=
            " It holds a call for a model that is not loaded, so a call that can be bridged is refused from its list.";
    }
    page += "\n\n";
    page += &refusals(preset);
    page += &questions(preset);
    page
}

fn refusals(preset: &Preset) -> String {
    let rules = preset.rules.iter().map(|rule| (answer(rule), meaning(rule), rule.origin));
    let veiled = preset.veiled.iter().map(|veiled| (answer(&veiled.when), hidden(veiled), veiled.when.origin));
    let rows: Vec<_> = rules.chain(veiled).collect();
    if rows.is_empty() {
        return "It has no refusal of its own: only a refused connection is one.\n\n".into();
    }
    let mut page = "| Answer; the first that fits counts | Means | Known from |\n|---|---|---|\n".to_owned();
    for (answer, meaning, origin) in rows {
        writeln!(page, "| {} | {meaning} | {} |", cell(&answer), known(origin)).unwrap();
    }
    page + "\n"
}

/// The conditions of a rule.
fn answer(rule: &Rule) -> String {
    let statuses: Vec<_> = rule.status.iter().map(u16::to_string).collect();
    let mut conditions = vec![match (rule.phase, statuses.is_empty()) {
        (Phase::Prime, _) => "inside a 200".to_owned(),
        (Phase::Head, true) => "any error".to_owned(),
        (Phase::Head, false) => statuses.join(" or "),
    }];
    conditions.extend(rule.header.iter().map(|(name, value)| format!("header `{name}`{}", is(value))));
    conditions.extend(rule.content_type.iter().map(|media| format!("`{media}`")));
    conditions.extend(rule.json.iter().map(pointed));
    conditions.extend(either(&rule.any_json));
    conditions.extend(rule.text.iter().map(|text| format!("text “{}”", text.trim())));
    conditions.join(", ")
}

/// Places of which one is enough; one value for all of them is said once.
fn either(places: &[(Cow<'_, str>, Cow<'_, str>)]) -> Option<String> {
    let (_, value) = places.first()?;
    if places.iter().any(|(_, other)| other != value) {
        return Some(places.iter().map(pointed).collect::<Vec<_>>().join(" or "));
    }
    let pointers: Vec<_> = places.iter().map(|(pointer, _)| format!("`{pointer}`")).collect();
    Some(format!("{}{}", pointers.join(" or "), is(value)))
}

fn pointed((pointer, value): &(Cow<'_, str>, Cow<'_, str>)) -> String {
    format!("`{pointer}`{}", is(value))
}

fn is(value: &str) -> String {
    match value {
        "*" => String::new(),
        "" => " empty".into(),
        value => format!(" = `{value}`"),
    }
}

fn meaning(rule: &Rule) -> String {
    match (rule.trigger, rule.certainty) {
        (None, _) => "no refusal".into(),
        (Some(trigger), Claim::Certain) => format!("`{}`", trigger.token()),
        (Some(trigger), Claim::CertainOfOnePiece) => {
            format!("`{}` of a call that is one piece of work", trigger.token())
        }
        (Some(trigger), Claim::Ambiguous) => format!("`{}`, and it may have run: never bridged", trigger.token()),
    }
}

fn hidden(veiled: &Veiled) -> String {
    let states: Vec<_> =
        veiled.states.iter().map(|(state, trigger)| format!("{state} → `{}`", trigger.token())).collect();
    if states.is_empty() {
        return format!("{}: hides nothing", veiled.surface.name());
    }
    format!("{}: the answer hides the reason; by the model's state: {}", veiled.surface.name(), states.join(", "))
}

fn questions(preset: &Preset) -> String {
    let watch = &preset.watch;
    let mut rows = Vec::new();
    if let Some(health) = watch.health {
        let loading: Vec<_> = health.loading.iter().map(|status| format!("; {status}: it loads")).collect();
        rows.push((
            "its health",
            format!("GET {}", health.path),
            format!("2xx: well{}", loading.concat()),
            health.origin,
        ));
    }
    rows.extend(watch.models.map(|list| ("its models", asked(list.call), listed(&list), list.call.origin)));
    rows.extend(watch.queue.map(|queue| ("its queue", format!("GET {}", queue.path), queued(&queue), queue.origin)));
    if let Some(flag) = watch.asleep {
        rows.push(("whether it sleeps", format!("GET {}", flag.path), format!("`{}`", flag.pointer), flag.origin));
    }
    if let Wake::Call { call, blocks } = preset.wake {
        let when = if blocks { "answered when it is loaded" } else { "answered at once" };
        rows.push(("to load a model", asked(call), format!("{when}{}", already(call.already)), call.origin));
    }
    if let Some(Sleep { sleep, wake, per_model }) = preset.sleep {
        let of = if per_model { "each model that is loaded" } else { "the engine" };
        rows.push(("to free its memory", asked(sleep), format!("{of}{}", already(sleep.already)), sleep.origin));
        rows.extend(wake.map(|wake| ("to wake it", asked(wake), String::new(), wake.origin)));
    }
    let mut page = String::new();
    if !rows.is_empty() {
        page += "| Asked for | Request | Reads | Known from |\n|---|---|---|---|\n";
    }
    for (what, request, reads, origin) in rows {
        writeln!(page, "| {what} | `{request}` | {} | {} |", cell(&reads), known(origin)).unwrap();
    }
    if !page.is_empty() {
        page += "\n";
    }
    page + unasked(preset)
}

/// What does without a request.
fn unasked(preset: &Preset) -> &'static str {
    match (preset.wake, preset.sleep) {
        (Wake::ByRefusal, _) => {
            "The call that it refuses starts the load. To free its memory its process is ended.\n\n"
        }
        (Wake::None, None) => "The start of its process is the load, and its end frees its memory.\n\n",
        (Wake::None, Some(_)) => "The start of its process is the load.\n\n",
        (Wake::Call { .. }, _) => "",
    }
}

fn asked(call: Call) -> String {
    let body = if call.body.is_empty() { String::new() } else { format!(" {}", call.body) };
    format!("{} {}{body}", call.method.token(), call.path)
}

fn already(already: Option<Already>) -> String {
    already.map(|Already { status, text }| format!("; {status} “{text}” is as good")).unwrap_or_default()
}

fn listed(list: &ModelList) -> String {
    let names: Vec<_> = list.names.iter().map(|name| format!("`{}/*{name}`", list.list)).collect();
    let mut reads = names.join(", ");
    if !list.optional_ending.is_empty() {
        write!(reads, ", also without `{}`", list.optional_ending).unwrap();
    }
    if list.state.is_empty() {
        reads += "; what is listed is ready";
    } else {
        let states: Vec<_> = list.states.iter().map(|(value, state)| format!("{value} is {}", state.token())).collect();
        write!(reads, "; `{}`: {}", list.state, states.join(", ")).unwrap();
    }
    if !list.failed.is_empty() {
        write!(reads, "; `{}`: its load failed", list.failed).unwrap();
    }
    if let Some(state) = list.unlisted {
        write!(reads, "; what is not listed is {}", state.token()).unwrap();
    }
    if !list.never_listed.is_empty() {
        let endings: Vec<_> = list.never_listed.iter().map(|ending| format!("`{ending}`")).collect();
        write!(reads, "; nothing is known of a name that ends in {}", endings.join(" or ")).unwrap();
    }
    reads
}

fn queued(queue: &Queue) -> String {
    let names = |what: &str, names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let mut parts: Vec<_> =
        [names("running", queue.running), names("waiting", queue.waiting)].into_iter().flatten().collect();
    if queue.wakes {
        parts.push("the question keeps it awake".into());
    }
    parts.join("; ")
}

fn known(origin: Origin) -> String {
    let how = match origin.how {
        How::Seen => "seen",
        How::Read => "read",
        How::Documented => "documented",
        How::Inferred => "likely",
        How::Configured => "configured",
    };
    let mark = if origin.is_seen() { SEEN } else { UNSEEN };
    format!("{mark} {how}: {}", cell(origin.what))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
