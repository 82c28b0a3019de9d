//! `routing`: what a bare model name does.

use super::model::Profiles;
use crate::config::table::{Node, Place, did_you_mean};
use spillway_policies::model::DEFAULT_PROFILE;
use spillway_policies::routing::{Policy, Profile, Remote};
use spillway_policies::{Trigger, TriggerSet};

const PROFILE_HINT: &str = "name the remote profile that a bridge goes to: fallback_profile = \"remote\"";
const THRESHOLD_KEYS: [&str; 4] = ["wake_above", "sleep_below", "window_s", "cooldown_s"];
const DAY_MS: u64 = 86_400_000;

/// A `routing` table as far as it says who serves.
pub(super) enum Written<'t> {
    /// Local first, then the profile named at this place.
    Fallback { profile: String, place: Place<'t>, triggers: TriggerSet },
    /// No table at all.
    Local,
    /// Never local.
    RemoteOnly { place: Place<'t> },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Fallback,
    RemoteOnly,
    Threshold,
}

/// Reads the table; none when it does not say who serves.
pub(super) fn read<'t>(node: &Node<'t>) -> Option<Written<'t>> {
    let mut table = node.table()?;
    let names = [("fallback", Name::Fallback), ("remote_only", Name::RemoteOnly), ("threshold", Name::Threshold)];
    let policy = table.need(
        "policy",
        "say what the bare name does: fallback, remote_only or threshold; without routing it is served locally",
    );
    let place = policy.as_ref().map_or_else(|| node.name.clone(), |node| node.place.clone());
    let name = policy.and_then(|node| node.choice(&names));
    let (profile, triggers) = (table.take("fallback_profile"), table.take("triggers"));
    let threshold = THRESHOLD_KEYS.map(|key| table.take(key));
    table.finish();

    match name? {
        Name::RemoteOnly => {
            refuse_keys("remote_only", [&profile, &triggers].into_iter().chain(&threshold));
            Some(Written::RemoteOnly { place })
        }
        Name::Fallback => {
            refuse_keys("fallback", &threshold);
            fallback(profile, triggers.map(|node| self::triggers(&node)), node)
        }
        Name::Threshold => {
            refuse_keys("threshold", [&triggers]);
            check_threshold(threshold, node);
            place.warn(
                "is served as \"fallback\" in this version",
                "local is always tried first; the demand figures are checked and not used",
            );
            fallback(profile, None, node)
        }
    }
}

fn refuse_keys<'n, 't: 'n>(policy: &str, keys: impl IntoIterator<Item = &'n Option<Node<'t>>>) {
    for node in keys.into_iter().flatten() {
        node.name.wrong(format!("is not for policy \"{policy}\""), "take it out");
    }
}

fn fallback<'t>(profile: Option<Node<'t>>, triggers: Option<TriggerSet>, node: &Node<'t>) -> Option<Written<'t>> {
    let Some(profile) = profile else {
        node.name.missing("fallback_profile", PROFILE_HINT);
        return None;
    };
    let triggers = triggers.unwrap_or_default();
    Some(Written::Fallback { profile: profile.text()?.into(), place: profile.place, triggers })
}

fn triggers(node: &Node<'_>) -> TriggerSet {
    let mut set = TriggerSet::EMPTY;
    let items = node.list().unwrap_or_default();
    if items.is_empty() && node.raw().as_array().is_some() {
        node.place.wrong("must name at least one trigger", "leave it out for provisioning and model_loading");
    }
    for item in items {
        let Some(trigger) = item.choice(&Trigger::ALL.map(|trigger| (trigger.token(), trigger))) else { continue };
        if set.contains(trigger) {
            item.place.wrong("stands here twice", "keep one of them");
        }
        set = set.with(trigger);
    }
    set
}

/// All four figures are required, and sleeping must begin below waking (contract section 4).
fn check_threshold(figures: [Option<Node<'_>>; 4], node: &Node<'_>) {
    for (key, _) in THRESHOLD_KEYS.iter().zip(&figures).filter(|(_, figure)| figure.is_none()) {
        node.name.missing(key, "policy \"threshold\" needs wake_above, sleep_below, window_s and cooldown_s");
    }
    let [wake_above, sleep_below, window_s, cooldown_s] = figures;
    for window in [window_s, cooldown_s].into_iter().flatten() {
        window.seconds(1..=DAY_MS);
    }
    let wake = wake_above.and_then(|node| node.positive());
    let sleep = sleep_below.as_ref().and_then(Node::positive);
    if let (Some(wake), Some(sleep), Some(node)) = (wake, sleep, sleep_below)
        && sleep >= wake
    {
        node.place.wrong("must be less than wake_above", "");
    }
}

/// The policy, with its profile found.
pub(super) fn policy(written: Written<'_>, profiles: &Profiles, remote_backed: bool) -> Option<Policy> {
    match written {
        Written::Local => Some(Policy::Local),
        Written::RemoteOnly { place } => {
            if !remote_backed {
                let hint = "say that no local engine has the model, or use \"fallback\"";
                place.wrong("\"remote_only\" needs remote_backed = true", hint);
            }
            let Some(Some(Profile::Remote(remote))) = profiles.get(DEFAULT_PROFILE) else { return None };
            Some(Policy::RemoteOnly { remote: remote.clone() })
        }
        Written::Fallback { place, .. } if remote_backed => {
            place.wrong("a remote-backed model has no local side to fall back from", "use policy = \"remote_only\"");
            None
        }
        Written::Fallback { profile, place, triggers } => {
            let remote = fallback_remote(&profile, &place, profiles)?.clone();
            Some(Policy::Fallback { remote, triggers })
        }
    }
}

/// Where a fallback goes; none when the profile is not one to fall back to, or has mistakes of its own.
fn fallback_remote<'p>(profile: &str, place: &Place<'_>, profiles: &'p Profiles) -> Option<&'p Remote> {
    let define = "define it: profiles.remote = { upstream = \"…\", upstream_model = \"…\" }";
    match profiles.get(profile) {
        _ if profile == DEFAULT_PROFILE => place.wrong("must not be the default profile", PROFILE_HINT),
        Some(Some(Profile::Remote(remote))) => return Some(remote),
        Some(Some(Profile::Local)) => {
            place.wrong("names a local profile", "give that profile an upstream and an upstream_model");
        }
        Some(None) => {}
        None => match did_you_mean(profile, profiles.keys().map(String::as_str)) {
            near if near.is_empty() => place.wrong("names a profile that the model does not have", define),
            near => place.wrong("names a profile that the model does not have", near),
        },
    }
    None
}
