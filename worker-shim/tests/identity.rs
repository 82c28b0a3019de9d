//! Is every part of the local side seen, stated, or none?

#[path = "identity/stage.rs"]
mod stage;

use spillway_shim::client::Client;
use spillway_shim::config::Address;
use spillway_shim::identity::observe;
use stage::{CPUINFO, ENGINE, SHIM, Stage, assert_part, config, engine, sha256};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const PROPS: (&str, &str) = ("/props", r#"{"build_info":"b5-abcdef0","model_path":"models/a.gguf"}"#);
const NO_ADAPTERS: (&str, &str) = ("/lora-adapters", "[]");
const VLLM_VERSION: (&str, &str) = ("/version", r#"{"version":"0.11.0"}"#);
const VLLM_MODELS: (&str, &str) = ("/v1/models", r#"{"data":[{"id":"x","root":"o/n"}]}"#);

async fn llama() -> Stage {
    let stage = Stage::new(&[PROPS, NO_ADAPTERS]).await;
    stage.write("srv/models/a.gguf", "weights");
    stage
}

async fn llama_with(path: &str) -> Stage {
    let props = format!(r#"{{"build_info":"b5-abcdef0","model_path":"{path}"}}"#);
    Stage::new(&[("/props", &props), NO_ADAPTERS]).await
}

/// An engine that says which hub model it has, at which revision.
async fn info(sha: &str) -> Stage {
    let info = format!(
        r#"{{"version":"1.8.2","sha":"0d124dc","model_id":"o/n","model_sha":"{sha}","model_dtype":"float16"}}"#
    );
    Stage::new(&[("/info", &info)]).await
}

#[tokio::test]
async fn a_gguf_on_a_cpu_is_known_whole() {
    let identity = llama().await.see("llama_cpp").await;
    let weights = format!("gguf:sha256:{}", sha256(b"weights"));
    let device = format!("cpu:V 6 167 A CPU flags:sha256:{}", sha256(b"avx sse"));
    assert_part(&identity, "engine", Some("llama_cpp"));
    assert_part(&identity, "version", Some("b5-abcdef0"));
    assert_part(&identity, "weights", Some(&weights));
    assert_part(&identity, "tokenizer", Some(&weights));
    assert_part(&identity, "dtype", Some(&weights));
    assert_part(&identity, "device", Some(&device));
    assert_part(&identity, "driver", Some("none"));
    let text = format!(
        "device={device}\ndriver=none\ndtype={weights}\nengine=llama_cpp\ntokenizer={weights}\nversion=b5-abcdef0\nweights={weights}\n"
    );
    assert_eq!(identity.digest, Some(sha256(text.as_bytes())));
}

#[tokio::test]
async fn a_changed_file_is_read_again() {
    let stage = llama().await;
    let before = stage.see("llama_cpp").await;
    assert_eq!(stage.see("llama_cpp").await, before);
    stage.write("srv/models/a.gguf", "other weights");
    let after = stage.see("llama_cpp").await;
    assert_part(&after, "weights", Some(&format!("gguf:sha256:{}", sha256(b"other weights"))));
    assert_ne!(after.digest, before.digest);
}

#[tokio::test]
async fn weights_that_are_not_the_files_own_are_none() {
    for flag in ["--lora", "--lora-scaled=x", "--override-kv", "--control-vector", "--rope-scale"] {
        let stage = llama().await;
        stage.process(101, ENGINE, ENGINE, &["llama-server", flag, "x"]);
        let identity = stage.see("llama_cpp").await;
        assert_part(&identity, "weights", None);
        assert_eq!(identity.digest, None, "{flag}");
    }
    // It has an adapter, or does not say that it has none.
    for answers in [&[PROPS, ("/lora-adapters", r#"[{"id":0}]"#)] as &[_], &[PROPS]] {
        let stage = Stage::new(answers).await;
        stage.write("srv/models/a.gguf", "weights");
        assert_part(&stage.see("llama_cpp").await, "weights", None);
    }
}

#[tokio::test]
async fn a_file_that_was_replaced_under_the_engine_is_none() {
    let stage = llama().await;
    let map = "7f00-7f01 r--s 0 fe:00 1    /srv/models/a.gguf";
    stage.write("proc/100/maps", &format!("{map} (deleted)\n"));
    assert_part(&stage.see("llama_cpp").await, "weights", None);
    stage.write("proc/100/maps", &format!("{map}\n"));
    assert!(stage.see("llama_cpp").await.digest.is_some());
}

#[tokio::test]
async fn a_file_that_is_younger_than_the_engine_is_none() {
    let file = llama().await;
    // The file is old, and has the name only since.
    let link = llama_with("models/a.gguf").await;
    link.link("srv/models/a.gguf", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    for stage in [file, link] {
        let changed_s = stage.changed_s("srv/models/a.gguf");
        for (started_s, is_known) in [(changed_s, false), (changed_s + 1, true)] {
            stage.start(started_s);
            assert_eq!(stage.see("llama_cpp").await.digest.is_some(), is_known, "{started_s} of {changed_s}");
        }
    }
    // What it maps is what it has, whenever that came.
    let stage = llama().await;
    stage.start(stage.changed_s("srv/models/a.gguf"));
    stage.write("proc/100/maps", "7f00-7f01 r--s 0 fe:00 1    /srv/models/a.gguf\n");
    assert!(stage.see("llama_cpp").await.digest.is_some());
    // Nobody can tell.
    let stage = llama().await;
    stage.write("proc/stat", "cpu 1 2\n");
    assert_part(&stage.see("llama_cpp").await, "weights", None);
}

#[tokio::test]
async fn all_shards_count_and_none_may_be_missing() {
    let stage = llama_with("/m/a-00001-of-00002.gguf").await;
    stage.write("m/a-00001-of-00002.gguf", "one");
    assert_part(&stage.see("llama_cpp").await, "weights", None);
    stage.write("m/a-00002-of-00002.gguf", "two");
    let both = sha256(format!("{}\n{}", sha256(b"one"), sha256(b"two")).as_bytes());
    assert_part(&stage.see("llama_cpp").await, "weights", Some(&format!("gguf:2:sha256:{both}")));
}

#[tokio::test]
async fn the_hubs_cache_names_a_large_file_by_its_digest() {
    let snapshot = format!("c/models--o--n/snapshots/{COMMIT}/a.gguf");
    let stage = llama_with(&format!("/{snapshot}")).await;
    let sum = "ab".repeat(32);
    stage.write(&format!("c/models--o--n/blobs/{sum}"), "never read");
    stage.link(&snapshot, &format!("../../blobs/{sum}"));
    assert_part(&stage.see("llama_cpp").await, "weights", Some(&format!("gguf:sha256:{sum}")));
    // A small file's blob is named as a git object: it is read.
    let name = "ab".repeat(20);
    stage.write(&format!("c/models--o--n/blobs/{name}"), "read");
    stage.link(&snapshot, &format!("../../blobs/{name}"));
    assert_part(&stage.see("llama_cpp").await, "weights", Some(&format!("gguf:sha256:{}", sha256(b"read"))));
}

#[tokio::test]
async fn a_cache_in_another_format_leaves_the_number_format_open() {
    let stage = llama().await;
    stage.write("proc/100/environ", "A=b\0LLAMA_ARG_CACHE_TYPE_K=q8_0\0");
    let identity = stage.see("llama_cpp").await;
    assert!(identity.parts["weights"].is_some());
    assert_part(&identity, "dtype", None);
}

#[tokio::test]
async fn a_version_that_names_no_build_is_none() {
    for version in ["", "dev", "0.0.0", "b0-unknown", "b7-unknown", "0.11.1.dev3+gabc.d20250901", "1.2-dirty"] {
        let stage = Stage::new(&[("/api/version", &format!(r#"{{"version":"{version}"}}"#))]).await;
        assert_part(&stage.see("ollama").await, "version", None);
    }
}

#[tokio::test]
async fn every_engine_states_its_version_its_own_way() {
    let table = [
        ("vllm", "/version", r#"{"version":"0.11.0"}"#, "0.11.0"),
        ("sglang", "/server_info", r#"{"version":"0.5.23","api_key":"s"}"#, "0.5.23"),
        ("sglang", "/get_server_info", r#"{"version":"0.4.6.post5"}"#, "0.4.6.post5"),
        (
            "llama_cpp_router",
            "/props",
            r#"{"role":"router","model_path":"none","build_info":"b1-7e4c0a9"}"#,
            "b1-7e4c0a9",
        ),
        ("tei", "/info", r#"{"version":"1.8.2","sha":null,"model_id":"o/n"}"#, "1.8.2"),
        ("tgi", "/info", r#"{"version":"3.3.7","sha":"db931fcf"}"#, "3.3.7+db931fcf"),
        ("infinity", "/openapi.json", r#"{"info":{"title":"t","version":"0.0.77"}}"#, "0.0.77"),
        ("ollama", "/api/version", r#"{"version":"0.12.3"}"#, "0.12.3"),
        ("localai", "/version", r#"{"version":"v3.5.0 (abc1)"}"#, "v3.5.0 (abc1)"),
        ("llama_swap", "/api/version", r#"{"version":"170","commit":"deadbee","build_date":"d"}"#, "170+deadbee"),
        ("triton", "/v2", r#"{"name":"triton","version":"2.60.0","extensions":[]}"#, "2.60.0"),
        ("kserve", "/v2", r#"{"name":"kserve","version":"0.15.2","extensions":[]}"#, "0.15.2"),
    ];
    for (name, path, body, wanted) in table {
        let identity = Stage::new(&[(path, body)]).await.see(name).await;
        assert_part(&identity, "version", Some(wanted));
        assert_part(&identity, "weights", None);
        assert_eq!(identity.digest, None);
    }
}

#[tokio::test]
async fn an_engine_that_does_not_answer_or_tells_it_per_model_has_no_version() {
    for name in ["vllm", "sie", "lm_studio", "mlx", "openai"] {
        let identity = Stage::new(&[]).await.see(name).await;
        assert_part(&identity, "engine", Some(name));
        assert_part(&identity, "version", None);
        assert_eq!(identity.digest, None);
    }
}

#[tokio::test]
async fn a_commit_that_the_engine_states_covers_weights_and_tokenizer() {
    let stage = info(COMMIT).await;
    stage.nvidia();
    let identity = stage.see("tei").await;
    assert_part(&identity, "version", Some("1.8.2+0d124dc"));
    assert_part(&identity, "weights", Some(&format!("hub:o/n@{COMMIT}")));
    assert_part(&identity, "tokenizer", Some(&format!("hub:o/n@{COMMIT}")));
    assert_part(&identity, "dtype", Some("float16"));
    assert_part(&identity, "device", Some("nvidia:NVIDIA L1"));
    assert_part(&identity, "driver", Some("nvidia:550.54.14"));
    assert_eq!(identity.digest.map(|digest| digest.len()), Some(64));
}

#[tokio::test]
async fn a_branch_and_a_folder_of_that_name_are_no_commit() {
    assert_part(&info("main").await.see("tei").await, "weights", None);
    let stage = info(COMMIT).await;
    stage.write("srv/o/n/config.json", "{}");
    assert_part(&stage.see("tei").await, "weights", None);
}

#[tokio::test]
async fn what_the_hub_says_now_is_not_what_was_loaded() {
    let stage = info(COMMIT).await;
    assert_part(&stage.see("tgi").await, "weights", None);
    stage.process(101, ENGINE, ENGINE, &["launcher", "--revision", COMMIT, "--dtype=half"]);
    let identity = stage.see("tgi").await;
    assert_part(&identity, "weights", Some(&format!("hub:o/n@{COMMIT}")));
    assert_part(&identity, "dtype", Some("float16"));
    // Two processes were told different things.
    stage.process(102, 101, 999, &["server", "--revision", "other"]);
    assert_part(&stage.see("tgi").await, "weights", None);
}

#[tokio::test]
async fn a_commit_of_the_command_counts_unless_a_flag_changes_what_is_loaded() {
    let stage = Stage::new(&[VLLM_VERSION, VLLM_MODELS]).await;
    stage.process(ENGINE, SHIM, ENGINE, &["vllm", "serve", "o/n", "--revision", COMMIT, "--dtype", "bfloat16"]);
    let identity = stage.see("vllm").await;
    assert_part(&identity, "weights", Some(&format!("hub:o/n@{COMMIT}")));
    assert_part(&identity, "dtype", Some("bfloat16"));
    assert!(identity.digest.is_some());
    for (part, flag) in [
        ("weights", "--enable_lora"),
        ("weights", "--config=c.yaml"),
        ("tokenizer", "--tokenizer"),
        ("dtype", "--quantization"),
        ("device", "--nnodes"),
        ("driver", "--nnodes"),
    ] {
        stage.process(101, ENGINE, ENGINE, &["vllm", flag, "x"]);
        let identity = stage.see("vllm").await;
        assert_part(&identity, part, None);
        assert_eq!(identity.digest, None, "{flag}");
    }
    stage.process(101, ENGINE, ENGINE, &["vllm", "--dtype", "auto"]);
    assert_part(&stage.see("vllm").await, "dtype", None);
}

#[tokio::test]
async fn a_snapshot_folder_of_the_hubs_cache_is_a_commit() {
    let models = format!(r#"{{"data":[{{"id":"x","root":"/c/models--o--n/snapshots/{COMMIT}"}}]}}"#);
    let stage = Stage::new(&[VLLM_VERSION, ("/v1/models", &models)]).await;
    stage.write(&format!("c/models--o--n/snapshots/{COMMIT}/config.json"), "{}");
    assert_part(&stage.see("vllm").await, "weights", Some(&format!("hub:o/n@{COMMIT}")));
}

#[tokio::test]
async fn a_second_model_leaves_the_weights_open() {
    let models = r#"{"data":[{"id":"x","root":"o/n"},{"id":"adapter","root":"/a","parent":"x"}]}"#;
    let stage = Stage::new(&[VLLM_VERSION, ("/v1/models", models)]).await;
    stage.process(101, ENGINE, ENGINE, &["vllm", "--revision", COMMIT]);
    assert_part(&stage.see("vllm").await, "weights", None);
}

#[tokio::test]
async fn weights_that_were_changed_while_it_runs_are_none() {
    let server = (
        "/server_info",
        r#"{"version":"0.5.23","dtype":"bfloat16","lora_paths":null,"json_model_override_args":"{}"}"#,
    );
    for (weights, wanted) in [("default", Some(format!("hub:o/n@{COMMIT}"))), ("2", None)] {
        let model = format!(r#"{{"model_path":"o/n","weight_version":"{weights}","load_format":"auto"}}"#);
        let stage = Stage::new(&[server, ("/model_info", &model)]).await;
        stage.process(101, ENGINE, ENGINE, &["sglang", "--revision", COMMIT]);
        let identity = stage.see("sglang").await;
        assert_part(&identity, "weights", wanted.as_deref());
        assert_part(&identity, "dtype", Some("bfloat16"));
    }
}

#[tokio::test]
async fn any_node_that_may_be_an_accelerator_leaves_the_device_open() {
    for node in ["/dev/kfd", "/dev/dri/renderD128", "/dev/accel/accel0", "/dev/nvidia-caps/nvidia-cap1", "/dev/dxg"] {
        let stage = llama().await;
        stage.process(101, ENGINE, 999, &["worker"]);
        stage.link("proc/101/fd/1", node);
        let identity = stage.see("llama_cpp").await;
        assert_part(&identity, "device", None);
        assert_part(&identity, "driver", None);
    }
}

#[tokio::test]
async fn a_process_that_the_engine_left_to_the_shim_counts() {
    let stage = llama().await;
    stage.process(300, SHIM, 300, &["worker"]);
    stage.link("proc/300/fd/1", "/dev/kfd");
    assert_part(&stage.see("llama_cpp").await, "device", None);
    stage.process(300, 1, 300, &["somebody else's"]);
    assert!(stage.see("llama_cpp").await.parts["device"].is_some());
}

#[tokio::test]
async fn a_process_that_may_not_be_looked_at_leaves_everything_open() {
    let stage = llama().await;
    stage.process(101, ENGINE, ENGINE, &["worker"]);
    stage.deny("proc/101/fd");
    let identity = stage.see("llama_cpp").await;
    for part in ["weights", "tokenizer", "device", "driver", "dtype"] {
        assert_part(&identity, part, None);
    }
}

#[tokio::test]
async fn several_gpus_or_one_that_may_share_with_the_cpu_are_none() {
    let stage = info(COMMIT).await;
    stage.nvidia();
    stage.link("proc/100/fd/7", "/dev/nvidia0");
    assert_part(&stage.see("tei").await, "device", None);
    let stage = llama().await;
    stage.nvidia();
    let identity = stage.see("llama_cpp").await;
    assert_part(&identity, "device", None);
    assert_part(&identity, "driver", None);
}

#[tokio::test]
async fn a_driver_that_does_not_tell_its_version_is_none() {
    let stage = info(COMMIT).await;
    stage.nvidia();
    stage.write("proc/driver/nvidia/version", "NVRM version: another\n");
    let identity = stage.see("tei").await;
    assert_part(&identity, "driver", None);
    assert_eq!(identity.digest, None);
}

#[tokio::test]
async fn different_processors_are_none_and_flags_have_no_order() {
    let stage = llama().await;
    let one = stage.see("llama_cpp").await;
    stage.write("proc/cpuinfo", &CPUINFO.replace("sse avx", "avx sse"));
    assert_eq!(stage.see("llama_cpp").await, one);
    stage.write("proc/cpuinfo", &CPUINFO.replacen("sse avx", "sse", 1));
    assert_part(&stage.see("llama_cpp").await, "device", None);
}

#[tokio::test]
async fn an_engine_that_only_seems_to_run_here_is_none() {
    // Its process does not listen itself: a daemon does for it, or another machine.
    let stage = llama().await;
    stage.link("proc/100/fd/3", "socket:[1]");
    let only_stated = stage.see("llama_cpp").await;
    for part in ["weights", "tokenizer", "device", "driver", "dtype"] {
        assert_part(&only_stated, part, None);
    }
    assert_part(&only_stated, "version", Some("b5-abcdef0"));
    // Somebody else started it, or it is gone, or its files are not ours.
    let stage = llama().await;
    assert_eq!(stage.see_process("llama_cpp", None).await, only_stated);
    assert_eq!(stage.see_process("llama_cpp", Some(4)).await, only_stated);
    stage.link("proc/100/ns/mnt", "mnt:[2]");
    assert_eq!(stage.see("llama_cpp").await, only_stated);
}

#[cfg(target_os = "linux")]
async fn vllm_with(extra: &[&str]) -> spillway_filters::feed::Identity {
    let stage = Stage::new(&[VLLM_VERSION, VLLM_MODELS]).await;
    let command = ["vllm", "serve", "--model", "o/n", "--revision", COMMIT, "--dtype", "bfloat16"];
    stage.process(ENGINE, SHIM, ENGINE, &[&command, extra].concat());
    stage.link("proc/100/fd/3", "socket:[4711]");
    stage.nvidia();
    stage.see("vllm").await
}

#[tokio::test]
async fn a_flag_counts_in_every_form_that_its_engine_takes() {
    assert!(vllm_with(&[]).await.digest.is_some(), "the plain command is known whole");
    let forms: [&[&str]; 8] = [
        &["--hf-overrides.num_hidden_layers", "2"],
        &["--hf_overrides.rope_scaling.factor=4"],
        &["--model-loader-extra-config.sharded", "true"],
        &["--load-form", "dummy"],
        &["--hf-overrid", "{}"],
        &["--quantiz", "fp8"],
        &["-qfp8"],
        &["--kv-cache-dt=fp8"],
    ];
    for extra in forms {
        assert_eq!(vllm_with(extra).await.digest, None, "{extra:?}");
    }
}

#[tokio::test]
async fn the_real_proc_is_read() {
    // This program is the engine: it listens, and computes on the CPU.
    let port = engine(&[VLLM_VERSION, VLLM_MODELS]).await;
    let config = config("vllm", Address::Tcp(format!("localhost:{port}")));
    let client = Client::new(config.engine.clone(), None);
    let identity = observe(&config, &client, Some(std::process::id().cast_signed())).await;
    assert_part(&identity, "version", Some("0.11.0"));
    assert_part(&identity, "driver", Some("none"));
    assert_part(&identity, "weights", None);
}
