//! `[[engine.refusal]]`: an operator's own recogniser, in the form that presets have.

use crate::config::table::{Node, Place, Table};
use spillway_filters::presets::Origin;
use spillway_filters::refusal::{Claim, Phase, Rule};
use spillway_policies::Trigger;
use std::borrow::Cow;
use toml::de::DeValue;

const WHEN_HINT: &str =
    "such as when = { phase = \"head\", status = [503], json = { \"/error/code\" = \"model_not_ready\" } }";

pub(super) fn rule(mut table: Table<'_>) -> Option<Rule> {
    let place = table.place.clone();
    let mistakes = place.mistakes();
    let conditions = table.need("when", WHEN_HINT).and_then(|node| when(node.table()?));
    let trigger = table.need("trigger", "say what it means: provisioning, model_loading, saturated or unhealthy");
    let trigger = trigger.and_then(|node| node.choice(&Trigger::ALL.map(|trigger| (trigger.token(), trigger))));
    let claims = [("certain", Claim::Certain), ("ambiguous", Claim::Ambiguous)];
    let certainty = table.choice_or("certainty", &claims, Claim::Certain);
    table.finish();

    let rule = Rule { trigger: Some(trigger?), certainty, origin: Origin::CONFIGURED, ..conditions? };
    (place.mistakes() == mistakes && is_safe(&rule, &place)).then_some(rule)
}

fn when(mut table: Table<'_>) -> Option<Rule> {
    let phases = [("head", Phase::Head), ("prime", Phase::Prime)];
    let phase = table.need("phase", "head: status, headers and body; prime: the first events of a 200 stream");
    let phase = phase.and_then(|node| node.choice(&phases));
    let status = table.take("status").map_or_else(Vec::new, |node| statuses(&node));
    let header = table.take("header").map_or_else(Vec::new, |node| pairs(&node, header_name, Node::text));
    let json = table.take("json").map_or_else(Vec::new, |node| pairs(&node, pointer, scalar));
    let any_json = table.take("any_json").map_or_else(Vec::new, |node| pairs(&node, pointer, scalar));
    let text = table.take("text").map_or_else(Vec::new, |node| texts(&node));
    let content_type = table.take("content_type").and_then(|node| word(&node));
    table.finish();
    Some(Rule {
        phase: phase?,
        status: Cow::Owned(status),
        header: Cow::Owned(header),
        json: Cow::Owned(json),
        any_json: Cow::Owned(any_json),
        text: Cow::Owned(text),
        content_type,
        ..Rule::HEAD
    })
}

/// What must never be bridged cannot be declared a refusal (product section 4 item 5).
fn is_safe(rule: &Rule, place: &Place<'_>) -> bool {
    let looks_inside = !(rule.json.is_empty() && rule.any_json.is_empty() && rule.text.is_empty());
    let mut safe = true;
    let mut wrong = |problem: &str, hint: &str| {
        place.wrong(problem, hint);
        safe = false;
    };
    if rule.status.is_empty() && !looks_inside && rule.header.is_empty() && rule.content_type.is_none() {
        wrong(
            "would match nearly every answer",
            "add a condition: status, header, json, any_json, text or content_type",
        );
    }
    if rule.status.contains(&504) {
        wrong("a 504 is never a refusal", "the engine may have done the work: take 504 out of when.status");
    }
    if rule.status.contains(&500) && !looks_inside && rule.header.is_empty() {
        wrong(
            "a 500 alone is never a refusal",
            "add json, any_json, text or header conditions that prove that nothing was done",
        );
    }
    if rule.phase == Phase::Head && rule.status.iter().any(|status| (200..300).contains(status)) {
        wrong(
            "a success is never a refusal in phase head",
            "refusals inside a 200 are looked for in phase = \"prime\"",
        );
    }
    safe
}

fn statuses(node: &Node<'_>) -> Vec<u16> {
    let items = node.list().unwrap_or_default();
    let statuses = items.iter().filter_map(|item| item.whole(100..=599));
    statuses.map(|status| u16::try_from(status).expect("a status has three digits")).collect()
}

/// A table of names with the texts they must have.
fn pairs<'t>(
    node: &Node<'t>,
    is_name: fn(&str) -> Result<(), &'static str>,
    wanted: fn(&Node<'t>) -> Option<&'t str>,
) -> Vec<(Cow<'static, str>, Cow<'static, str>)> {
    let Some(table) = node.table() else { return Vec::new() };
    let checked = table.each().into_iter().filter_map(|(name, value)| {
        is_name(name).map_err(|problem| value.name.wrong(problem, "")).ok()?;
        Some((Cow::Owned(name.to_owned()), Cow::Owned(wanted(&value)?.to_owned())))
    });
    checked.collect()
}

/// What a JSON place must hold: a text, or a number or boolean, which match by their text.
fn scalar<'t>(node: &Node<'t>) -> Option<&'t str> {
    match node.raw() {
        DeValue::Boolean(flag) => Some(if *flag { "true" } else { "false" }),
        DeValue::Integer(digits) if digits.radix() == 10 => Some(digits.as_str()),
        _ => node.text(),
    }
}

fn pointer(name: &str) -> Result<(), &'static str> {
    if name.starts_with('/') { Ok(()) } else { Err("must be a JSON pointer, which starts with a slash") }
}

fn header_name(name: &str) -> Result<(), &'static str> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_token) { Ok(()) } else { Err("must be the name of a header") }
}

/// One text, or a list of texts that must all be there.
fn texts(node: &Node<'_>) -> Vec<Cow<'static, str>> {
    let single = node.raw().as_str().is_some();
    let texts = if single { word(node).into_iter().collect() } else { listed(node) };
    if texts.is_empty() && !single {
        node.place.wrong("must be a text or a list of texts, at least one", "");
    }
    texts
}

fn listed(node: &Node<'_>) -> Vec<Cow<'static, str>> {
    node.list().unwrap_or_default().iter().filter_map(word).collect()
}

fn word(node: &Node<'_>) -> Option<Cow<'static, str>> {
    let text = node.text()?;
    if text.is_empty() {
        node.place.wrong("must not be empty", "");
        return None;
    }
    Some(Cow::Owned(text.to_owned()))
}
