//! What a name resolves to and whether a refusal is bridged: every combination, row by row.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "support/remote.rs"]
mod support;

use spillway_policies::model::Selector;
use spillway_policies::refusal::Certainty;
use spillway_policies::routing::{Barred, Policy, Profile, Tasks};
use spillway_policies::surface::Task;
use spillway_policies::verdict::{Verdict, Why, decide};
use spillway_policies::{Consent, Model, Refusal, Route, Routes, Surface, Trigger, TriggerSet};
use std::collections::BTreeMap;
use support::remote;

fn model(policy: Policy, remote_backed: bool, profiles: &[(&str, Profile)]) -> Model {
    let mut tasks = Tasks::default();
    tasks.declare(Task::Generate);
    let profiles = profiles.iter().map(|(name, profile)| ((*name).to_owned(), profile.clone())).collect();
    Model { tasks, profiles, policy, remote_backed, accept_params: Vec::new() }
}

/// One model per kind of configuration. An upstream model's name says which profile was chosen.
fn routes() -> Routes {
    let local = ("default", Profile::Local);
    let far = ("remote", Profile::Remote(remote("far")));
    let only = ("default", Profile::Remote(remote("only")));
    let fallback = Policy::Fallback { remote: remote("far"), triggers: TriggerSet::default() };
    let models = [
        ("org/plain", model(Policy::Local, false, std::slice::from_ref(&local))),
        ("org/named", model(Policy::Local, false, &[local.clone(), far.clone()])),
        ("org/hybrid", model(fallback.clone(), false, &[local.clone(), far.clone()])),
        ("org/only", model(Policy::RemoteOnly { remote: remote("only") }, true, &[only.clone(), far.clone()])),
        ("org/backed", model(Policy::Local, true, &[only])),
        ("tag:8b", model(fallback, false, &[local, far])),
    ];
    Routes::new(models.into_iter().map(|(name, model)| (name.to_owned(), model)).collect::<BTreeMap<_, _>>())
}

/// A resolution as the table writes it.
fn seen(routes: &Routes, written: &str, option: Option<&str>, consent: Consent) -> &'static str {
    match routes.resolve(&Selector::parse(written, option), consent) {
        Ok(Route::Local) => "local",
        Ok(Route::Hybrid { remote, .. }) if remote.model.as_str() == "far" => "hybrid far",
        Ok(Route::Remote { remote, .. }) if remote.model.as_str() == "far" => "remote far",
        Ok(Route::Remote { remote, .. }) if remote.model.as_str() == "only" => "remote only",
        Ok(Route::Hybrid { .. } | Route::Remote { .. }) => "somewhere else",
        Err(Barred::Forbidden) => "forbidden",
        Err(Barred::NoSuchProfile) => "no such profile",
        Err(Barred::SwitchedOff) => "switched off",
    }
}

#[test]
fn every_name_resolves_as_its_row_says() {
    let routes = routes();
    // written name, options.profile, then what happens with consent, under forbid, and with the switch off
    let rows = [
        ("org/unknown", None, ["local"; 3]),
        ("org/unknown:remote", None, ["local"; 3]),
        ("org/plain", None, ["local"; 3]),
        ("org/plain:default", None, ["local"; 3]),
        ("org/plain:other", None, ["local"; 3]),
        ("org/named", None, ["local"; 3]),
        ("org/named:default", None, ["local"; 3]),
        ("org/named:remote", None, ["remote far", "forbidden", "switched off"]),
        ("org/named", Some("remote"), ["remote far", "forbidden", "switched off"]),
        ("org/hybrid", None, ["hybrid far", "local", "local"]),
        ("org/hybrid:default", None, ["local"; 3]),
        ("org/hybrid", Some("default"), ["local"; 3]),
        ("org/hybrid:other", None, ["local"; 3]),
        ("org/hybrid:remote", None, ["remote far", "forbidden", "switched off"]),
        ("org/hybrid", Some("remote"), ["remote far", "forbidden", "switched off"]),
        ("org/hybrid:remote", Some("default"), ["local"; 3]),
        ("org/hybrid:default", Some("remote"), ["remote far", "forbidden", "switched off"]),
        ("org/only", None, ["remote only", "forbidden", "switched off"]),
        ("org/only:default", None, ["remote only", "forbidden", "switched off"]),
        ("org/only:remote", None, ["remote far", "forbidden", "switched off"]),
        ("org/only:other", None, ["local"; 3]),
        ("org/only", Some("other"), ["no such profile"; 3]),
        ("org/hybrid", Some("other"), ["local"; 3]),
        ("org/backed", None, ["remote only", "forbidden", "switched off"]),
        ("org/backed", Some("default"), ["remote only", "forbidden", "switched off"]),
        ("tag:8b", None, ["hybrid far", "local", "local"]),
        ("tag:8b:remote", None, ["remote far", "forbidden", "switched off"]),
        ("tag:8b", Some("default"), ["local"; 3]),
        ("tag:8b", Some("remote"), ["remote far", "forbidden", "switched off"]),
        ("tag:70b", None, ["local"; 3]),
        ("tag", None, ["local"; 3]),
    ];
    for (written, option, expected) in rows {
        for (consent, expected) in [Consent::Given, Consent::Forbidden, Consent::SwitchedOff].into_iter().zip(expected)
        {
            assert_eq!(seen(&routes, written, option, consent), expected, "{written} {option:?} {consent:?}");
        }
    }
}

#[test]
fn the_callers_word_counts_before_the_switch() {
    assert_eq!(Consent::of(true, false), Consent::Given);
    assert_eq!(Consent::of(false, false), Consent::SwitchedOff);
    assert_eq!(Consent::of(true, true), Consent::Forbidden);
    assert_eq!(Consent::of(false, true), Consent::Forbidden);
}

fn trigger_sets() -> impl Iterator<Item = (Vec<Trigger>, TriggerSet)> {
    (0_u8..16).map(|bits| {
        let on: Vec<_> =
            Trigger::ALL.into_iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0).map(|(_, on)| on).collect();
        let set = on.iter().fold(TriggerSet::EMPTY, |set, trigger| set.with(*trigger));
        (on, set)
    })
}

/// Every refusal there can be, with the surface it came on.
fn refusals() -> impl Iterator<Item = (Surface, Refusal)> {
    Surface::ALL.into_iter().flat_map(|surface| {
        Trigger::ALL.into_iter().flat_map(move |trigger| {
            [Certainty::Ambiguous, Certainty::Certain]
                .into_iter()
                .map(move |certainty| (surface, Refusal { trigger, certainty }))
        })
    })
}

#[test]
fn a_hybrid_route_bridges_a_certain_refusal_whose_trigger_is_on_and_nothing_else() {
    let (tasks, remote) = (Tasks::default(), remote("far"));
    let mut bridged = 0;
    for (on, triggers) in trigger_sets() {
        let route = Route::Hybrid { tasks: &tasks, remote: &remote, triggers };
        for (surface, refusal) in refusals() {
            let verdict = decide(&route, surface, refusal);
            let place = format!("{on:?} {surface:?} {refusal:?}: {verdict:?}");
            match (refusal.certainty, on.contains(&refusal.trigger), verdict) {
                (Certainty::Certain, true, Verdict::Bridge(plan)) => {
                    bridged += 1;
                    assert_eq!((plan.trigger, plan.surface), (Some(refusal.trigger), surface), "{place}");
                    assert_eq!(plan.remote.model.as_str(), "far", "{place}");
                }
                (Certainty::Certain, false, Verdict::Keep(Why::TriggerOff)) => {}
                (Certainty::Ambiguous, _, Verdict::Keep(Why::Ambiguous)) => {}
                _ => panic!("{place}"),
            }
        }
    }
    // Each of the four triggers is on in eight of the sixteen sets.
    assert_eq!(bridged, 4 * 8 * Surface::ALL.len());
}

#[test]
fn any_other_route_keeps_every_refusal() {
    let (tasks, remote) = (Tasks::default(), remote("far"));
    for route in [Route::Local, Route::Remote { tasks: &tasks, remote: &remote }] {
        for (surface, refusal) in refusals() {
            let verdict = decide(&route, surface, refusal);
            assert!(matches!(verdict, Verdict::Keep(Why::LocalOnly)), "{route:?} {surface:?} {refusal:?}: {verdict:?}");
        }
    }
}

#[test]
fn without_consent_no_bare_name_ends_in_a_bridge() {
    let routes = routes();
    for written in ["org/unknown", "org/plain", "org/named", "org/hybrid", "org/only", "org/backed", "tag:8b"] {
        for consent in [Consent::Forbidden, Consent::SwitchedOff] {
            let Ok(route) = routes.resolve(&Selector::parse(written, None), consent) else { continue };
            for (surface, refusal) in refusals() {
                assert!(
                    matches!(decide(&route, surface, refusal), Verdict::Keep(_)),
                    "{written} {consent:?} {refusal:?}"
                );
            }
        }
    }
}

#[test]
fn only_the_first_two_triggers_are_on_unasked() {
    let on: Vec<_> = Trigger::ALL.into_iter().filter(|trigger| TriggerSet::default().contains(*trigger)).collect();
    assert_eq!(on, [Trigger::Provisioning, Trigger::ModelLoading]);
    for trigger in Trigger::ALL {
        assert_eq!(Trigger::from_token(trigger.token()), Some(trigger));
    }
}

#[test]
fn the_reasons_have_stable_names() {
    assert_eq!(
        [Why::Ambiguous, Why::LocalOnly, Why::TriggerOff].map(Why::token),
        ["ambiguous", "local_only", "trigger_off"]
    );
}
