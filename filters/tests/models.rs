//! `/v1/models`: what an engine wrote survives, and what the configuration knows is added.

use proptest::prelude::*;
use serde_json::{Value, json};
use spillway_filters::models::{Book, Said, ask_plainly, complete, complete_head, path, wanted};
use spillway_policies::model::UpstreamModel;
use spillway_policies::routing::{Model, Onboarding, Policy, Profile, Routes, Sparse, Tasks};
use spillway_policies::surface::Task;
use spillway_policies::upstream::{Endpoint, Kind, Params, Timeouts, TlsFiles, UpstreamName};
use spillway_policies::url::BaseUrl;
use spillway_policies::{Remote, TriggerSet, Upstream, breaker, rate_cap};
use std::collections::BTreeMap;
use std::sync::Arc;

fn remote(kind: Kind) -> Remote {
    let upstream = Upstream {
        name: UpstreamName::parse("team").expect("a name"),
        kind,
        base_url: BaseUrl::parse("https://host.example.com").expect("a URL"),
        credential: None,
        rate_cap: rate_cap::Settings { requests_per_minute: 60, max_concurrency: 4 },
        breaker: breaker::Settings::default(),
        params: Params::default(),
        timeouts: Timeouts::default(),
        tls: TlsFiles::default(),
        proxy_url: None,
    };
    let model = UpstreamModel::parse("vendor/model").expect("a name");
    Remote { upstream: Arc::new(upstream), model, max_batch: None, onboarding: Onboarding::default() }
}

fn tasks(declared: &[Task]) -> Tasks {
    let mut tasks = Tasks::default();
    declared.iter().for_each(|task| tasks.declare(*task));
    tasks
}

/// One model of each sort.
fn routes() -> Routes {
    let openai = || remote(Kind::Openai(vec![Endpoint::Chat]));
    let profiles = |profiles: &[(&str, Profile)]| {
        profiles.iter().map(|(name, profile)| ((*name).to_owned(), profile.clone())).collect::<BTreeMap<_, _>>()
    };
    let hybrid = Model {
        tasks: tasks(&[Task::Generate]),
        profiles: profiles(&[("default", Profile::Local), ("remote", Profile::Remote(openai()))]),
        policy: Policy::Fallback { remote: openai(), triggers: TriggerSet::default() },
        remote_backed: false,
        accept_params: Vec::new(),
    };
    let mut sized = tasks(&[Task::Encode, Task::Score]);
    (sized.dense_dim, sized.sparse) = (Some(1024), Some(Sparse { dim: None }));
    (sized.multivector_dim, sized.max_sequence_length) = (Some(128), Some(8192));
    let away = Model {
        tasks: sized,
        profiles: profiles(&[("default", Profile::Remote(remote(Kind::Sie)))]),
        policy: Policy::RemoteOnly { remote: remote(Kind::Sie) },
        remote_backed: true,
        accept_params: Vec::new(),
    };
    let hears = Model { tasks: tasks(&[Task::Transcribe]), policy: Policy::Local, ..away.clone() };
    let plain = Model {
        tasks: Tasks::default(),
        profiles: profiles(&[("default", Profile::Local), ("spare", Profile::Remote(openai()))]),
        policy: Policy::Local,
        remote_backed: false,
        accept_params: Vec::new(),
    };
    let models = [("org/away", away), ("org/chat", hybrid), ("org/hears", hears), ("org/plain", plain)];
    Routes::new(models.into_iter().map(|(name, model)| (name.to_owned(), model)).collect())
}

fn said(body: &str, said: Said, wanted: Option<&str>) -> Option<String> {
    let routes = routes();
    let book = Book { routes: &routes, remote_serving: true, said };
    complete(body.as_bytes(), wanted, &book).map(|body| String::from_utf8(body).expect("UTF-8"))
}

fn answer(body: &str, how: Said, wanted: Option<&str>) -> Value {
    serde_json::from_str(&said(body, how, wanted).expect("completed")).expect("JSON")
}

fn routing(policy: &str, kind: &str) -> Value {
    json!({"policy": policy, "upstream_kind": kind})
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let models = list.as_array().expect("an array");
    models.iter().map(|model| model[key].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn what_sie_wrote_survives_to_the_digit() {
    const X: &str = r#"{"name":"org/x","score":1.500,"big":123456789012345678901234567890,"routing":{"policy":null,"upstream_kind":null}}"#;
    let chat = r#"{"name":"org/chat","ratio":1e-7,"routing":{"policy":null,"upstream_kind":null},"aliases":["a"]}"#;
    let list = said(&format!(r#"{{"models":[{X},{chat},7],"more":0.10}}"#), Said::Known, None).expect("completed");
    assert!(
        list.contains(X) && list.contains(r#""more":0.10"#) && list.contains(r#""ratio":1e-7,"routing""#),
        "{list}"
    );
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list["models"][1]["routing"], routing("fallback", "openai"));
    assert_eq!(list["models"][1]["aliases"], json!(["a"]));
    assert_eq!(list["models"][2], 7, "what is no model stays where it is");
    assert_eq!(names(&json!(list["models"].as_array().expect("an array")[3..]), "name"), ["org/away", "org/hears"]);
}

#[test]
fn a_list_in_sies_shape_gets_openais_beside_it() {
    let list = answer(
        r#"{"models":[{"name":"org/x","routing":{"policy":null,"upstream_kind":null}},{"name":"org/chat"}]}"#,
        Said::Known,
        None,
    );
    assert_eq!(list["object"], "list");
    assert_eq!(names(&list["data"], "id"), ["org/x", "org/chat", "org/away", "org/hears"]);
    assert_eq!(
        list["data"][0],
        json!({"id": "org/x", "object": "model", "created": 0, "owned_by": "spillway",
            "routing": {"policy": null, "upstream_kind": null}})
    );
    assert_eq!(list["data"][1]["routing"], routing("fallback", "openai"));
}

#[test]
fn an_openai_list_gets_openai_entries_alone() {
    let engine = r#"{"object":"list","data":[{"id":"org/chat","object":"model","created":1,"owned_by":"vllm","max_model_len":4096}]}"#;
    let list = answer(engine, Said::Known, None);
    assert!(list.get("models").is_none());
    assert_eq!(list["data"][0]["owned_by"], "vllm");
    assert_eq!(list["data"][0]["max_model_len"], 4096);
    assert_eq!(list["data"][0]["routing"], routing("fallback", "openai"));
    let away = json!({"id": "org/away", "object": "model", "created": 0, "owned_by": "spillway",
        "routing": {"policy": "remote_only", "upstream_kind": "sie"}});
    assert_eq!(list["data"][1], away);
}

#[test]
fn both_lists_of_llama_cpp_are_filled() {
    let engine = r#"{"models":[{"name":"org/chat","size":""}],"object":"list","data":[{"id":"org/chat"}]}"#;
    let list = answer(engine, Said::Known, None);
    for (shape, name) in [("models", "name"), ("data", "id")] {
        assert_eq!(names(&list[shape], name), ["org/chat", "org/away", "org/hears"]);
        assert_eq!(list[shape][0]["routing"], routing("fallback", "openai"));
    }
}

#[test]
fn a_remote_backed_model_is_described_in_full() {
    let away = answer("{}", Said::Unknown, Some("org/away"));
    let profile = json!({"is_default": true, "identity": null, "remote_contract_sha256": null,
        "remote_execution_sha256": null, "runtime_instance_id": null});
    let wanted = json!({
        "id": "org/away", "object": "model", "created": 0, "owned_by": "spillway",
        "name": "org/away", "inputs": ["text"], "outputs": ["dense", "sparse", "multivector", "score"],
        "dims": {"dense": 1024, "multivector": 128}, "loaded": false, "state": "available", "last_error": null,
        "max_sequence_length": 8192, "profiles": {"default": profile}, "revision": null, "capabilities": null,
        "routing": {"policy": "remote_only", "upstream_kind": "sie"}, "aliases": []});
    assert_eq!(away, wanted);
    let hears = answer("{}", Said::Unknown, Some("org/hears"));
    assert_eq!((&hears["inputs"], &hears["outputs"]), (&json!(["audio"]), &json!(["json"])));
    assert_eq!(hears["routing"], routing("remote_only", "sie"), "a remote default is remote only, written or not");
}

#[test]
fn one_model_of_sie_gets_its_routing_and_openais_members() {
    let chat = said(r#"{"name":"org/chat","ratio":1.50,"state":"loaded"}"#, Said::Known, Some("org/chat"));
    let chat = chat.expect("completed");
    assert!(chat.contains(r#""name":"org/chat","ratio":1.50,"state":"loaded""#), "{chat}");
    let chat: Value = serde_json::from_str(&chat).expect("JSON");
    assert_eq!(chat["routing"], routing("fallback", "openai"));
    assert_eq!((&chat["id"], &chat["object"]), (&json!("org/chat"), &json!("model")));
    let openai = answer(r#"{"id":"org/chat","object":"model","owned_by":"vllm"}"#, Said::Known, Some("org/chat"));
    assert_eq!(
        openai,
        json!({"routing": routing("fallback", "openai"), "id": "org/chat", "object": "model", "owned_by": "vllm"})
    );
}

#[test]
fn a_remote_profile_is_a_model_of_its_own() {
    for (name, kind) in [("org/chat:remote", "openai"), ("org/plain:spare", "openai")] {
        let profile = answer(r#"{"detail":{"code":"MODEL_NOT_FOUND"}}"#, Said::Unknown, Some(name));
        assert_eq!(profile["name"], name);
        assert_eq!(profile["routing"], routing("remote_only", kind));
        assert_eq!(profile["profiles"]["default"]["is_default"], true);
        assert_eq!(profile["state"], "available");
    }
    for name in ["org/chat:default", "org/chat:other", "org/nothing", "org/nothing:remote", ""] {
        assert_eq!(said("{}", Said::Unknown, Some(name)), None, "{name}: the engine's 404 stands");
    }
}

#[test]
fn a_policy_names_the_upstream_and_nothing_else_does() {
    let plain = answer(r#"{"name":"org/plain"}"#, Said::Known, Some("org/plain"));
    assert_eq!(plain["routing"], json!({"policy": null, "upstream_kind": null}));
    assert_eq!(said(r#"{"name":"org/x"}"#, Said::Known, Some("org/x")), None, "not configured");
}

#[test]
fn an_engine_that_is_not_there_is_said_to_be_so() {
    for (how, state, code) in [
        (Said::Loading, "loading", Value::Null),
        (Said::Starting, "loading", json!("PROVISIONING")),
        (Said::Unreachable, "failed", json!("ENGINE_UNREACHABLE")),
    ] {
        let list = answer("", how, None);
        for (shape, name) in [("models", "name"), ("data", "id")] {
            assert_eq!(names(&list[shape], name), ["org/away", "org/chat", "org/hears", "org/plain"]);
        }
        assert_eq!(list["object"], "list");
        let (away, chat) = (&list["models"][0], &list["models"][1]);
        assert_eq!((&away["state"], &away["last_error"]), (&json!("available"), &Value::Null));
        assert_eq!((&chat["state"], &chat["last_error"]["code"]), (&json!(state), &code));
        assert_eq!(chat["last_error"].get("permanent"), (!code.is_null()).then_some(&json!(false)));
        assert_eq!(chat["routing"], routing("fallback", "openai"));
        assert_eq!(chat["profiles"].as_object().map(serde_json::Map::len), Some(2));
        assert_eq!(answer("", how, Some("org/chat"))["state"], state);
        assert_eq!(answer("", how, Some("org/chat:remote"))["state"], "available");
        assert_eq!(said("", how, Some("org/nothing")), None);
    }
    let list = answer("not found", Said::Unknown, None);
    assert_eq!(list["models"][1]["state"], "available", "an engine without a list may serve all the same");
}

#[test]
fn a_switch_that_is_off_is_a_failure_of_what_only_upstreams_serve() {
    let routes = routes();
    let book = Book { routes: &routes, remote_serving: false, said: Said::Unknown };
    let away: Value =
        serde_json::from_slice(&complete(b"", Some("org/away"), &book).expect("described")).expect("JSON");
    assert_eq!((&away["state"], &away["last_error"]["permanent"]), (&json!("failed"), &json!(true)));
}

#[test]
fn what_is_no_list_stands_as_it_came() {
    for body in ["", "<html>", "[]", "{}", r#"{"models":{}}"#, r#"{"models":[],"models":[]}"#, r#"{"models":[1,]}"#] {
        assert_eq!(said(body, Said::Known, None), None, "{body}");
    }
    for body in ["", "[]", "{}", r#"{"error":"no"}"#, r#"{"name":7}"#] {
        assert_eq!(said(body, Said::Known, Some("org/chat")), None, "{body}");
    }
    let routes = Routes::default();
    let book = Book { routes: &routes, remote_serving: true, said: Said::Starting };
    assert_eq!(complete(b"", None, &book), None, "nothing is configured");
}

#[test]
fn an_odd_entry_does_not_spoil_the_others() {
    let odd = r#"{"name":"org/chat","name":"org/away"}"#;
    let list = said(&format!(r#"{{"models":[{odd},{{"name":7}},null,{{"name":"org\/chat"}}]}}"#), Said::Known, None);
    let list = list.expect("completed");
    assert!(list.contains(odd), "{list}");
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list["models"][3]["routing"], routing("fallback", "openai"), "an escaped name is the same name");
    assert_eq!(names(&list["data"], "id"), ["org/chat", "org/away", "org/hears"]);
}

#[test]
fn names_stand_in_paths_and_come_back() {
    assert_eq!(wanted(b"/v1/models/org%2Fm"), Some("org/m".into()));
    assert_eq!(wanted(b"/v1/models"), None);
    assert_eq!(wanted(b"/v1/models/"), Some(String::new()));
    assert_eq!(path("org/m:v1"), "/v1/models/org/m:v1");
    for name in ["org/m", "a?b#c", "\u{fc}ber/%41", "m x"] {
        assert!(path(name).bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte)), "{name}");
        assert_eq!(wanted(path(name).as_bytes()).as_deref(), Some(name));
    }
}

#[test]
fn heads_lose_what_is_about_another_body() {
    let mut asked =
        b"GET /v1/models HTTP/1.1\r\nHost: h\r\naccept-encoding: gzip\r\nAccept: */*\r\nIf-None-Match: \"e\"\r\n\r\n"
            .to_vec();
    ask_plainly(&mut asked);
    assert_eq!(asked, b"GET /v1/models HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n");
    let mut answered =
        b"HTTP/1.1 200 OK\r\nDate: d\r\ncontent-length: 9\r\nETag: \"e\"\r\nX-Kept: 1\r\nTransfer-Encoding: chunked\r\n".to_vec();
    complete_head(&mut answered, 12);
    assert_eq!(answered, b"HTTP/1.1 200 OK\r\nDate: d\r\nX-Kept: 1\r\nContent-Length: 12\r\n");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("(name|id|routing|models|[a-z]{1,3})", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
        let routes = routes();
        for said in [Said::Known, Said::Unknown, Said::Loading] {
            let book = Book { routes: &routes, remote_serving: true, said };
            for name in [None, Some("org/chat"), Some("org/away"), Some("x")] {
                let _ = complete(&bytes, name, &book);
            }
        }
    }

    #[test]
    fn every_entry_of_the_engine_is_still_there(entries in prop::collection::vec(json_value(), 0..5), more in json_value()) {
        let engine = json!({"models": entries, "more": more}).to_string();
        let list: Value = serde_json::from_str(&said(&engine, Said::Known, None).expect("completed")).expect("JSON");
        let engine: Value = serde_json::from_str(&engine).expect("JSON");
        prop_assert_eq!(&list["more"], &engine["more"]);
        for (place, entry) in engine["models"].as_array().expect("an array").iter().enumerate() {
            prop_assert_eq!(&list["models"][place], entry);
        }
    }
}
