//! `profiles`: the ways one model can be served. Empty: by the engine. With an upstream's name: by that upstream.

use super::later;
use super::model::Profiles;
use super::models::Models;
use super::surroundings::Surroundings;
use crate::config::table::{Node, Place, Table};
use spillway_policies::model::UpstreamModel;
use spillway_policies::routing::{Profile, Remote};

/// Most inputs in one upstream request.
const MOST_BATCH: u32 = 65_536;

/// Every profile; none for one that has mistakes.
pub(super) fn profiles(node: &Node<'_>, models: &Models<'_>, surroundings: &Surroundings<'_>) -> Profiles {
    let Some(table) = node.table() else { return Profiles::new() };
    let written = table.each().into_iter();
    written.map(|(name, node)| (name.to_owned(), profile(name, &node, models, surroundings))).collect()
}

fn profile(name: &str, node: &Node<'_>, models: &Models<'_>, surroundings: &Surroundings<'_>) -> Option<Profile> {
    let mistakes = node.place.mistakes();
    check_name(name, &node.name);
    let mut table = node.table()?;
    let (upstream, model) = (table.take("upstream"), table.take("upstream_model"));
    let max_batch = table.take("max_batch");
    let mut extras = [&max_batch].into_iter().flatten().map(|node| node.name.clone()).collect::<Vec<_>>();
    extras.extend(unread_keys(&mut table, surroundings));
    table.finish_with(unknown_key);

    let profile = match (upstream, model) {
        (None, None) => {
            for place in extras {
                place.wrong("is for a remote profile", "a local profile is empty: the engine has its own settings");
            }
            Some(Profile::Local)
        }
        (upstream, model) => remote(upstream, model, max_batch, &node.name, models).map(Profile::Remote),
    };
    profile.filter(|_| node.place.mistakes() == mistakes)
}

fn remote(
    upstream: Option<Node<'_>>,
    model: Option<Node<'_>>,
    max_batch: Option<Node<'_>>,
    place: &Place<'_>,
    models: &Models<'_>,
) -> Option<Remote> {
    if upstream.is_none() {
        place.missing("upstream", "a remote profile names one of the deployment file's upstreams");
    }
    if model.is_none() {
        place.missing("upstream_model", "a remote profile names the model as the upstream does, such as \"org/name\"");
    }
    let upstream = upstream.and_then(|node| models.upstream(node.text()?, &node.place));
    let model = model
        .and_then(|node| UpstreamModel::parse(node.text()?).map_err(|bad| node.place.wrong(bad.to_string(), "")).ok());
    let max_batch = max_batch.map(|node| {
        later::unread(&node.name, "a call goes to the upstream in one request, as the caller sent it");
        node.count(1..=MOST_BATCH)
    });
    Some(Remote { upstream: upstream?, model: model?, max_batch: max_batch.flatten() })
}

/// Keys that are checked and have no effect yet, and where they stand.
fn unread_keys<'t>(table: &mut Table<'t>, surroundings: &Surroundings<'_>) -> Vec<Place<'t>> {
    let mut places = Vec::new();
    if let Some(node) = table.take("chat_template_file") {
        surroundings.file(&node);
        later::unread(&node.name, "chat calls go to upstreams that take chat themselves");
        places.push(node.name);
    }
    if let Some(node) = table.take("tool_format") {
        word(&node);
        later::unread(&node.name, "tool calls are left as the upstream writes them");
        places.push(node.name);
    }
    if let Some(node) = table.take("reasoning") {
        reasoning(&node);
        places.push(node.name);
    }
    places
}

/// Reasoning that is declared hidden and would still be shown is worse than none.
fn reasoning(node: &Node<'_>) {
    let Some(mut table) = node.table() else { return };
    if let Some(format) = table.need("format", "the name of the model family's way to mark its reasoning") {
        word(&format);
    }
    let hidden = table.take("hidden");
    table.finish();
    match hidden {
        Some(hidden) if hidden.flag() == Some(true) => {
            later::refused(
                &hidden.name,
                "use an upstream that keeps reasoning out of the text, or in reasoning_content, which is removed",
            );
        }
        _ => later::unread(&node.name, "reasoning_content is removed, text is left as it is"),
    }
}

fn word(node: &Node<'_>) {
    let is_word = |text: &str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if node.text().is_some_and(|text| !is_word(text)) {
        node.place.wrong("must be one word of letters, digits, ., _ and -, at most 64", "");
    }
}

fn unknown_key(name: &str) -> Option<String> {
    let defines = [
        "kind",
        "base_url",
        "api_key_secret",
        "api_key_file",
        "api_key",
        "rate_cap",
        "breaker",
        "endpoints",
        "tls",
        "proxy_url",
        "timeouts",
    ];
    defines.contains(&name).then(|| "a profile names an upstream and never defines one: this belongs to [upstreams.<name>] in the deployment file".into())
}

fn check_name(name: &str, place: &Place<'_>) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let well_formed =
        (1..=128).contains(&name.len()) && name.bytes().all(is_part) && name.as_bytes()[0].is_ascii_alphanumeric();
    if !well_formed {
        place.wrong(
            "a profile's name must be letters, digits, ., _ and -, at most 128, starting with a letter or digit",
            "callers write it as model:profile",
        );
    }
}
