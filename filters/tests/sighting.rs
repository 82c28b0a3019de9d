//! What engines answer to probes, in their own shapes (engines section 1), is read as what it means.

use proptest::prelude::*;
use spillway_filters::presets::{Call, Flag, Method, ModelList, Origin};
use spillway_filters::sighting::{Model, count, flag, models};
use spillway_policies::State;

const CALL: Call =
    Call { method: Method::Get, path: "/models", body: "", already: None, origin: Origin::inferred("a test") };

const PLAIN: ModelList = ModelList {
    call: CALL,
    list: "/data",
    names: &["/id"],
    state: "",
    states: &[],
    failed: "",
    unlisted: None,
    optional_ending: "",
    never_listed: &[],
    gates: true,
};

const ROUTER: ModelList = ModelList {
    names: &["/id", "/aliases/*"],
    state: "/status/value",
    states: &[
        ("unloaded", State::Absent),
        ("downloading", State::Loading),
        ("loading", State::Loading),
        ("loaded", State::Ready),
        ("sleeping", State::Asleep),
    ],
    failed: "/status/failed",
    ..PLAIN
};

const OLLAMA: ModelList = ModelList {
    list: "/models",
    names: &["/name", "/model"],
    unlisted: Some(State::Absent),
    optional_ending: ":latest",
    never_listed: &[":cloud", "-cloud"],
    ..PLAIN
};

const TRITON: ModelList = ModelList {
    list: "",
    names: &["/name"],
    state: "/state",
    states: &[("READY", State::Ready), ("LOADING", State::Loading), ("UNAVAILABLE", State::Absent)],
    ..PLAIN
};

fn read(list: &ModelList, body: &str) -> Option<Vec<(String, State, bool)>> {
    let named = |model: Model| (model.name, model.state, model.failed);
    models(list, body.as_bytes()).map(|models| models.into_iter().map(named).collect())
}

fn well(name: &str, state: State) -> (String, State, bool) {
    (name.to_owned(), state, false)
}

#[test]
fn a_llama_cpp_router_tells_the_state_of_each_model() {
    let body = r#"{"object":"list","data":[
        {"id":"org/a:Q4_K_M","object":"model","owned_by":"llamacpp","created":1,"status":{"value":"unloaded","args":["--model","a"]}},
        {"id":"b","aliases":["bee","b2"],"status":{"value":"loading"}},
        {"id":"c","status":{"value":"Loaded","failed":false}},
        {"id":"d","status":{"value":"unloaded","failed":true,"exit_code":1}},
        {"id":"e","status":{"value":"sleeping"}},
        {"id":"f","status":{"value":"downloading"}},
        {"id":"g","status":{"value":"dreaming"}},
        {"id":"h"},
        {"id":7,"status":{"value":"loaded"}},
        {"id":"","status":{"value":"loaded"}},
        "loaded"]}"#;
    let wanted = [
        well("b", State::Loading),
        well("b2", State::Loading),
        well("bee", State::Loading),
        well("c", State::Ready),
        ("d".to_owned(), State::Unhealthy, true),
        well("e", State::Asleep),
        well("f", State::Loading),
        well("org/a:Q4_K_M", State::Absent),
    ];
    assert_eq!(read(&ROUTER, body), Some(wanted.to_vec()));
}

#[test]
fn what_ollama_lists_is_loaded_and_its_latest_tag_is_optional() {
    let body = r#"{"models":[{"name":"llama3:latest","model":"llama3:latest","size_vram":1},{"name":"qwen3:4b","model":"qwen3:4b"},
        {"name":":latest"}]}"#;
    let wanted = [
        well(":latest", State::Ready),
        well("llama3", State::Ready),
        well("llama3:latest", State::Ready),
        well("qwen3:4b", State::Ready),
    ];
    assert_eq!(read(&OLLAMA, body), Some(wanted.to_vec()));
    assert_eq!(read(&OLLAMA, r#"{"models":[]}"#), Some(Vec::new()));
    for (model, state) in
        [("qwen3:4b", Some(State::Absent)), ("cloud", Some(State::Absent)), ("m:Cloud", None), ("m:4b-cloud", None)]
    {
        assert_eq!(OLLAMA.unlisted(model), state, "{model}");
    }
    assert_eq!(PLAIN.unlisted("m"), None);
    assert_eq!(read(&OLLAMA, r#"{"models":null}"#), Some(Vec::new()));
}

#[test]
fn lists_of_other_shapes_are_read_by_the_same_table() {
    let swap = ModelList {
        list: "/running",
        names: &["/model"],
        state: "/state",
        states: &[("ready", State::Ready), ("starting", State::Loading), ("stopping", State::Draining)],
        ..PLAIN
    };
    let body = r#"{"running":[{"model":"a","state":"ready","cmd":"x","ttl":0},{"model":"b","state":"starting"}]}"#;
    assert_eq!(read(&swap, body), Some(vec![well("a", State::Ready), well("b", State::Loading)]));

    let kserve = ModelList { list: "/models", names: &[""], ..PLAIN };
    assert_eq!(
        read(&kserve, r#"{"models":["a","b",3]}"#),
        Some(vec![well("a", State::Ready), well("b", State::Ready)])
    );

    let boolean = ModelList { state: "/ready", states: &[("true", State::Ready), ("false", State::Absent)], ..PLAIN };
    let body = r#"{"data":[{"id":"a","ready":true},{"id":"b","ready":false},{"id":"c","ready":"True"},{"id":"d","ready":null}]}"#;
    let wanted = [well("a", State::Ready), well("b", State::Absent), well("c", State::Ready)];
    assert_eq!(read(&boolean, body), Some(wanted.to_vec()));
}

#[test]
fn one_version_that_serves_is_enough() {
    let body = r#"[{"name":"m","version":"1","state":"UNAVAILABLE","reason":"unloaded"},{"name":"m","version":"2","state":"READY"},
        {"name":"m","version":"3","state":"LOADING"},{"name":"n","version":"1","state":"LOADING"},{"name":"n","state":"UNAVAILABLE"}]"#;
    assert_eq!(read(&TRITON, body), Some(vec![well("m", State::Ready), well("n", State::Loading)]));
}

#[test]
fn an_answer_that_is_no_such_list_says_nothing() {
    for body in ["", "{}", "null", r#"{"data":{"a":1}}"#, r#"{"data":"a"}"#, r#"{"data":[{"id":"a"}]"#, "OK", "\u{1}"] {
        assert_eq!(read(&PLAIN, body), None, "{body}");
    }
    assert_eq!(models(&PLAIN, b"{\"data\":[{\"id\":\"\xff\"}]}"), None);
    let deep = format!(r#"{{"data":{}{}}}"#, "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(read(&PLAIN, &deep), None);
}

#[test]
fn a_list_without_an_end_is_not_half_read() {
    let listed = |count: usize| {
        let entries: Vec<_> = (0..count).map(|index| format!(r#"{{"id":"m{index}"}}"#)).collect();
        models(&PLAIN, format!(r#"{{"data":[{}]}}"#, entries.join(",")).as_bytes()).map(|models| models.len())
    };
    assert_eq!(listed(10_000), Some(10_000));
    assert_eq!(listed(10_001), None);
}

#[test]
fn gauges_are_added_up_over_their_labels() {
    let vllm = "# HELP vllm:num_requests_running Number of requests in model execution batches.\n\
        # TYPE vllm:num_requests_running gauge\n\
        vllm:num_requests_running{engine=\"0\",model_name=\"org/m\"} 3.0\n\
        vllm:num_requests_running{engine=\"1\",model_name=\"a } 9\"} 2.0\n\
        # TYPE vllm:num_requests_waiting gauge\n\
        vllm:num_requests_waiting{engine=\"0\",model_name=\"org/m\"} 1e3\n\
        vllm:num_requests_waiting_by_reason{engine=\"0\",reason=\"capacity\"} 77.0\n\
        vllm:kv_cache_usage_perc{engine=\"0\"} NaN\n";
    assert_eq!(count(&["vllm:num_requests_running"], vllm.as_bytes()), Some(5));
    assert_eq!(count(&["vllm:num_requests_waiting"], vllm.as_bytes()), Some(1000));
    assert_eq!(count(&["vllm:num_requests_running", "vllm:num_requests_waiting"], vllm.as_bytes()), Some(1005));
    assert_eq!(count(&["vllm:num_requests", "vllm:kv_cache_usage_perc"], vllm.as_bytes()), None);
    let llama = b"llamacpp:requests_processing 0\r\nllamacpp:requests_deferred 4\r\n";
    assert_eq!(count(&["llamacpp:requests_processing"], llama), Some(0));
    assert_eq!(count(&["llamacpp:requests_deferred"], llama), Some(4));
    assert_eq!(count(&["te_queue_size"], b"te_queue_size{a=\"\xff\"} 6\n"), Some(6));
    assert_eq!(count(&["q"], b"q -2\n"), Some(0));
    assert_eq!(count(&["q"], b"q 1e300\n"), Some(u64::MAX));
    assert_eq!(count(&[], b"q 1\n"), None);
}

#[test]
fn numbers_in_json_are_added_up_over_their_elements() {
    assert_eq!(count(&["/server_load"], br#"{"server_load":7}"#), Some(7));
    let infinity = br#"{"data":[{"id":"a","stats":{"queue_fraction":0.1,"queue_absolute":2,"results_pending":1}},
        {"id":"b","stats":{"queue_absolute":3,"results_pending":"x"}},{"id":"c"}],"object":"list"}"#;
    assert_eq!(count(&["/data/*/stats/queue_absolute"], infinity), Some(5));
    assert_eq!(count(&["/data/*/stats/queue_absolute", "/data/*/stats/results_pending"], infinity), Some(6));
    assert_eq!(count(&["/data/*/id", "/object", "/data"], infinity), None);
    assert_eq!(count(&["/server_load"], b"server_load 7"), None);
    assert_eq!(count(&["server_load"], br#"{"server_load":7}"#), None);
}

#[test]
fn a_flag_is_a_boolean_and_nothing_like_it() {
    let asleep = Flag { path: "/is_sleeping", pointer: "/is_sleeping", origin: Origin::inferred("a test") };
    assert_eq!(flag(&asleep, br#"{"is_sleeping":true}"#), Some(true));
    assert_eq!(flag(&asleep, br#"{"is_sleeping": false}"#), Some(false));
    for body in [r#"{"is_sleeping":"true"}"#, r#"{"is_sleeping":1}"#, "{}", "true", ""] {
        assert_eq!(flag(&asleep, body.as_bytes()), None, "{body}");
    }
}

proptest! {
    #[test]
    fn no_bytes_break_a_reader(body in proptest::collection::vec(any::<u8>(), 0..400), text in "[q{}\"\\\\ a=,0-9\\n#.e-]{0,200}") {
        for body in [body.as_slice(), text.as_bytes()] {
            let _ = (models(&ROUTER, body), models(&TRITON, body), count(&["q", "/a/*/b"], body));
        }
    }
}
