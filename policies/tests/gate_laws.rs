//! What the gate never does, whatever happens in whatever order: two probes at once, more than the caps, a bridge without a trigger.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "support/remote.rs"]
mod support;

use proptest::prelude::*;
use spillway_policies::breaker::{self, Breaker, Outcome, Pass};
use spillway_policies::gate::{Gate, Permit};
use spillway_policies::model::Selector;
use spillway_policies::refusal::Certainty;
use spillway_policies::routing::{Policy, Profile, Tasks};
use spillway_policies::verdict::{Verdict, decide};
use spillway_policies::{Cause, Consent, Model, Moment, Refusal, Routes, Surface, Trigger, TriggerSet, rate_cap};
use std::collections::BTreeMap;
use support::remote;

/// One thing that happens to a gate after `wait_ms`.
#[derive(Clone, Copy, Debug)]
enum Step {
    Admit { requests: u32 },
    Settle { which: usize, outcome: Outcome },
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Answered), Just(Outcome::Cancelled), Just(Outcome::Unavailable)]
}

fn steps(most_requests: u32) -> impl Strategy<Value = Vec<(u64, Step)>> {
    let admit = (1..=most_requests).prop_map(|requests| Step::Admit { requests });
    let settle = (any::<usize>(), outcomes()).prop_map(|(which, outcome)| Step::Settle { which, outcome });
    let wait = prop_oneof![Just(0_u64), 0_u64..50, 0_u64..30_000];
    prop::collection::vec((wait, prop_oneof![admit, settle]), 1..200)
}

fn settings() -> impl Strategy<Value = breaker::Settings> {
    (1_u32..5, 1_u64..20_000, 1_u64..20_000).prop_map(|(failures, window_ms, cooldown_ms)| breaker::Settings {
        failures,
        window_ms,
        cooldown_ms,
    })
}

fn caps() -> impl Strategy<Value = rate_cap::Settings> {
    (1_u32..200, 1_u32..6)
        .prop_map(|(requests_per_minute, max_concurrency)| rate_cap::Settings { requests_per_minute, max_concurrency })
}

/// Takes one of the held things out, when there is one.
fn pick<T>(held: &mut Vec<T>, which: usize) -> Option<T> {
    (!held.is_empty()).then(|| held.swap_remove(which % held.len()))
}

proptest! {
    #[test]
    fn a_half_open_breaker_has_one_probe(settings in settings(), steps in steps(3)) {
        let (mut breaker, mut now, mut out) = (Breaker::new(settings), Moment::default(), Vec::new());
        for (wait_ms, step) in steps {
            now = now.plus(wait_ms);
            match step {
                Step::Admit { requests } => {
                    let probing = out.contains(&Pass::Probe);
                    match breaker.check(requests, now) {
                        Ok(pass) => {
                            prop_assert!(!probing, "an attempt passed beside a probe");
                            prop_assert!(pass == Pass::Ordinary || requests == 1, "a batch was a probe");
                            breaker.entered(pass);
                            out.push(pass);
                        }
                        Err(wait_s) => prop_assert!((1..=60).contains(&wait_s), "a wait of {wait_s} s"),
                    }
                }
                Step::Settle { which, outcome } => {
                    if let Some(pass) = pick(&mut out, which) {
                        breaker.settle(pass, outcome, now);
                    }
                }
            }
        }
    }

    #[test]
    fn the_caps_hold(cap in caps(), settings in settings(), steps in steps(1)) {
        let start = Moment::default();
        let (mut gate, mut now) = (Gate::new(&cap, settings, start), start);
        let (mut out, mut admitted) = (Vec::<Permit>::new(), Vec::new());
        for (wait_ms, step) in steps {
            now = now.plus(wait_ms);
            match step {
                Step::Admit { requests } => match gate.admit(requests, now) {
                    Ok(permit) => {
                        out.push(permit);
                        admitted.push(now);
                        prop_assert!(out.len() <= cap.max_concurrency as usize);
                        // In every span that ends now: a full bucket, and what flowed in since.
                        for (index, since) in admitted.iter().enumerate() {
                            let rpm = u64::from(cap.requests_per_minute);
                            let most = rpm + now.since(*since) * rpm / 60_000;
                            prop_assert!((admitted.len() - index) as u64 <= most);
                        }
                    }
                    Err(shut) => {
                        prop_assert!((1..=60).contains(&shut.retry_after_s));
                        prop_assert!(matches!(shut.cause, Cause::BreakerOpen | Cause::ConcurrencyCap | Cause::RateCap));
                    }
                },
                Step::Settle { which, outcome } => {
                    if let Some(permit) = pick(&mut out, which) {
                        gate.settle(permit, outcome, now);
                    }
                }
            }
        }
    }

    #[test]
    fn a_closed_breaker_opens_after_exactly_its_failures(settings in settings(), answered in any::<bool>()) {
        let (mut breaker, now) = (Breaker::new(settings), Moment::from_millis(1_000));
        for failure in 0..settings.failures {
            prop_assert_eq!(breaker.check(1, now), Ok(Pass::Ordinary), "before failure {}", failure + 1);
            breaker.settle(Pass::Ordinary, Outcome::Unavailable, now);
        }
        prop_assert!(breaker.check(1, now).is_err());
        let later = now.plus(settings.cooldown_ms);
        prop_assert_eq!(breaker.check(1, later), Ok(Pass::Probe));
        breaker.entered(Pass::Probe);
        breaker.settle(Pass::Probe, if answered { Outcome::Answered } else { Outcome::Unavailable }, later);
        prop_assert_eq!(breaker.check(1, later).is_ok(), answered);
    }

    #[test]
    fn a_refused_admission_costs_nothing(cap in caps(), refusals in 1_u32..50) {
        let now = Moment::default();
        let mut gate = Gate::new(&cap, breaker::Settings::default(), now);
        let held: Vec<_> = (0..cap.max_concurrency.min(cap.requests_per_minute)).map(|_| gate.admit(1, now).unwrap()).collect();
        for _ in 0..refusals {
            prop_assert!(gate.admit(1, now).is_err());
        }
        for permit in held {
            gate.settle(permit, Outcome::Answered, now);
        }
        // Every minute later the whole budget is there again, and not one request more.
        let later = now.plus(60_000);
        for _ in 0..cap.requests_per_minute {
            let permit = gate.admit(1, later).unwrap();
            gate.settle(permit, Outcome::Answered, later);
        }
        prop_assert_eq!(gate.admit(1, later).unwrap_err().cause, Cause::RateCap);
    }
}

proptest! {
    #[test]
    fn nothing_is_bridged_without_a_trigger_that_is_on(
        on in prop::collection::vec(prop::sample::select(Trigger::ALL.to_vec()), 0..4),
        trigger in prop::sample::select(Trigger::ALL.to_vec()),
        surface in prop::sample::select(Surface::ALL.to_vec()),
        (certain, serving, forbid) in any::<(bool, bool, bool)>(),
    ) {
        let remote = remote("far");
        let triggers = on.iter().fold(TriggerSet::EMPTY, |set, trigger| set.with(*trigger));
        let model = Model {
            tasks: Tasks::default(),
            profiles: BTreeMap::from([("default".to_owned(), Profile::Local), ("remote".to_owned(), Profile::Remote(remote.clone()))]),
            policy: Policy::Fallback { remote, triggers },
            remote_backed: false,
            accept_params: Vec::new(),
        };
        let routes = Routes::new(BTreeMap::from([("org/m".to_owned(), model)]));
        let route = routes.resolve(&Selector::parse("org/m", None), Consent::of(serving, forbid)).unwrap();
        let certainty = if certain { Certainty::Certain } else { Certainty::Ambiguous };
        let bridged = matches!(decide(&route, surface, Refusal { trigger, certainty }), Verdict::Bridge(_));
        prop_assert_eq!(bridged, serving && !forbid && certain && on.contains(&trigger));
    }
}
