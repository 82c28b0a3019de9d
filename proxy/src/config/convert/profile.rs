//! `profiles`: the ways one model can be served. Empty: by the engine. With an upstream's name: by that upstream.

use super::model::Profiles;
use super::models::Models;
use super::onboarding;
use super::surroundings::Surroundings;
use crate::config::table::{Node, Place};
use spillway_policies::model::UpstreamModel;
use spillway_policies::routing::{Onboarding, Profile, Remote};

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
    let onboarding = onboarding::onboarding(&mut table, surroundings, &mut extras);
    table.finish_with(unknown_key);

    let profile = match (upstream, model) {
        (None, None) => {
            for place in extras {
                place.wrong("is for a remote profile", "a local profile is empty: the engine has its own settings");
            }
            Some(Profile::Local)
        }
        (upstream, model) => {
            let remote = remote(upstream, model, max_batch, &node.name, models);
            let remote = remote.map(|remote| Remote { onboarding, ..remote });
            if let Some(remote) = &remote {
                onboarding::check_used(remote, &node.name);
            }
            remote.map(Profile::Remote)
        }
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
    let max_batch = max_batch.and_then(|node| node.count(1..=MOST_BATCH));
    Some(Remote { upstream: upstream?, model: model?, max_batch, onboarding: Onboarding::default() })
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
