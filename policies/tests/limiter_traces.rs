//! When the gate lets an attempt pass, against the executed traces in `fixtures/limiter_traces.json`.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

use serde_json::Value;
use spillway_policies::breaker::{self, Outcome};
use spillway_policies::gate::{Gate, Permit, Shut};
use spillway_policies::{Cause, Moment, rate_cap};
use std::collections::HashMap;

fn millis(seconds: &Value) -> u64 {
    (seconds.as_f64().unwrap() * 1000.0).round() as u64
}

fn gate(trace: &Value) -> Gate {
    let whole = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
    let cap = rate_cap::Settings {
        requests_per_minute: whole(&trace["rate_cap"]["requests_per_minute"]),
        max_concurrency: whole(&trace["rate_cap"]["max_concurrency"]),
    };
    let breaker = breaker::Settings {
        failures: whole(&trace["breaker"]["failures"]),
        window_ms: millis(&trace["breaker"]["window_s"]),
        cooldown_ms: millis(&trace["breaker"]["cooldown_s"]),
    };
    Gate::new(&cap, breaker, Moment::default())
}

fn outcome(op: &str) -> Outcome {
    match op {
        "end_ok" | "end_busy" | "end_other_error" => Outcome::Answered,
        "end_unavailable" => Outcome::Unavailable,
        other => panic!("no such op: {other}"),
    }
}

fn assert_refusal(step: &Value, shut: Shut, place: &str) {
    assert_eq!(step["result"], "refused", "{place}: {shut:?}");
    assert_eq!(step["refusal"], shut.cause.token(), "{place}");
    assert_eq!(step["retry_after_s"], shut.retry_after_s, "{place}");
    let kind = if shut.cause == Cause::BreakerOpen { "unavailable" } else { "busy" };
    assert_eq!(step["kind"], kind, "{place}");
}

/// One step of a trace; what was admitted stays in `permits` until it ends.
fn replay(gate: &mut Gate, permits: &mut HashMap<String, Permit>, step: &Value, place: &str) {
    let now = Moment::from_millis(millis(&step["t"]));
    let id = step["id"].to_string();
    match step["op"].as_str().unwrap() {
        "start" => match gate.admit(1, now) {
            Ok(permit) => {
                assert_eq!(step["result"], "admitted", "{place}");
                assert!(permits.insert(id, permit).is_none(), "{place}: still in flight");
            }
            Err(shut) => assert_refusal(step, shut, place),
        },
        "batch" => match gate.admit(u32::try_from(step["requests"].as_u64().unwrap()).unwrap(), now) {
            Ok(permit) => {
                assert_eq!(step["result"], "admitted", "{place}");
                gate.settle(permit, Outcome::Answered, now);
            }
            Err(shut) => assert_refusal(step, shut, place),
        },
        op => gate.settle(permits.remove(&id).expect("the trace ends only what it started"), outcome(op), now),
    }
}

#[test]
fn every_executed_trace_replays() {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/limiter_traces.json")).unwrap();
    let traces = fixture["traces"].as_array().unwrap();
    assert_eq!(traces.len(), 12);
    for trace in traces {
        let mut gate = gate(trace);
        let mut permits = HashMap::new();
        for (index, step) in trace["steps"].as_array().unwrap().iter().enumerate() {
            let place = format!("{} step {index}", trace["name"]);
            replay(&mut gate, &mut permits, step, &place);
        }
    }
}
