//! What SIE's own code answers, and how it judges answers: ours is equal.

use crate::host::{Call, Host, INVALID, answer, msgpack, text, unhex};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use spillway_filters::answer::Content;
use spillway_filters::call::Format;
use spillway_policies::Surface;

#[derive(Deserialize)]
struct Cases<T> {
    cases: Vec<T>,
}

fn cases<T: for<'a> Deserialize<'a>>(fixture: &'static str) -> Vec<T> {
    serde_json::from_str::<Cases<T>>(fixture).expect("the fixture is JSON").cases
}

#[derive(Deserialize)]
struct Dtype {
    case: String,
    output_dtype: String,
    declared_dim: Option<u32>,
    input_f32_hex: Option<String>,
    answer_hex: Option<String>,
    json: Option<Value>,
}

/// The numbers of a JSON list as 32-bit floats: SIE writes each as the 64-bit float that it is equal to, we write fewer digits.
fn floats(values: &Value) -> Vec<u32> {
    let values = values.as_array().expect("a list").iter().map(|value| value.as_f64().expect("a number"));
    #[expect(clippy::cast_possible_truncation, reason = "it was a 32-bit float")]
    values.map(|value| (value as f32).to_bits()).collect()
}

#[test]
fn every_dtype_is_what_sie_computes() {
    for case in cases::<Dtype>(include_str!("../fixtures/output_dtypes.json")) {
        let what = format!("{} {} {:?}", case.case, case.output_dtype, case.declared_dim);
        let mut host = Host::openai();
        host.tasks.dense_dim = case.declared_dim;
        let call = text(&json!({"items": [{"id": "a", "text": "t"}], "params": {"output_dtype": case.output_dtype}}));
        let asked = |reads| host.ask(&Call { reads, ..Call::json(Surface::Encode, &call) });
        let Some(input) = case.input_f32_hex else {
            assert_eq!(asked(Content::Json).map(drop), Err(crate::host::UNTRANSLATABLE), "{what}");
            continue;
        };
        let vector = STANDARD.encode(unhex(&input));
        let answers = [text(&json!({"data": [{"index": 0, "embedding": vector}]}))];
        let shown = answer(&asked(Content::Msgpack).expect("it can be asked"), &answers).expect("it is valid");
        // The reference's own answer was made under the name `m`.
        let renamed = [b"\x83\xa5model\xa5org/m", &unhex(&case.answer_hex.expect("an answer"))[9..]].concat();
        assert_eq!(shown.body, renamed, "{what}");
        let shown = answer(&asked(Content::Json).expect("it can be asked"), &answers);
        let Some(wanted) = case.json else {
            assert_eq!(shown, Err(INVALID), "{what}: it cannot be written in JSON");
            continue;
        };
        let shown: Value = serde_json::from_slice(&shown.expect("it is valid").body).expect("JSON");
        let dense = &shown["items"][0]["dense"];
        assert_eq!((&dense["dims"], &dense["dtype"]), (&wanted["dims"], &wanted["dtype"]), "{what}");
        assert_eq!(floats(&dense["values"]), floats(&wanted["values"]), "{what}");
    }
}

#[derive(Deserialize)]
struct Verdict {
    surface: String,
    case: String,
    request: Value,
    accept: String,
    answer_text: Option<String>,
    answer_hex: Option<String>,
}

/// The numbers that the scripted adapter of the reference takes from a text: `s=0.5`, `v=1,2`.
fn scripted(text: &str) -> Vec<f32> {
    let numbers = text.split_whitespace().next().and_then(|word| word.split_once('=')).expect("numbers").1;
    numbers.split(',').map(|number| number.parse().expect("a number")).collect()
}

/// Verdicts that a host of rerank cannot give.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("score", "usage with content", "a host states no tokens of content"),
    ("score", "usage with images", "nor images"),
    ("score", "usage with both", "neither"),
    ("rerank", "model written with __: the answer names the canonical model", "the caller's own name is shown"),
    ("embeddings", "not finite", "what is not finite is refused"),
    ("embeddings", "not finite, base64", "what is not finite is refused"),
];

fn is_different(verdict: &Verdict) -> bool {
    DIFFERENT.iter().any(|(surface, case, _)| verdict.surface == *surface && verdict.case == *case)
}

#[test]
fn scores_are_what_sie_answers() {
    for verdict in cases::<Verdict>(include_str!("../fixtures/score_rerank.json")) {
        if verdict.surface != "score" || is_different(&verdict) {
            continue;
        }
        let reads = if verdict.answer_hex.is_some() { Content::Msgpack } else { Content::Json };
        assert_eq!(reads == Content::Msgpack, verdict.accept.ends_with("msgpack"));
        let wanted = verdict
            .answer_hex
            .as_deref()
            .map_or_else(|| verdict.answer_text.clone().unwrap_or_default().into_bytes(), unhex);
        let query = verdict.request["query"]["text"].as_str().expect("a text");
        let items = verdict.request["items"].as_array().expect("items");
        let score = |item: &Value| {
            let text = item["text"].as_str().expect("a text");
            // One case computes in 64 bits.
            let wide = text.strip_prefix("s=").expect("a score").parse::<f64>().expect("a number");
            if query.contains("f64") { wide } else { f64::from(scripted(text)[0]) }
        };
        let results = items.iter().enumerate().rev();
        let results: Vec<Value> =
            results.map(|(place, item)| json!({"index": place, "relevance_score": score(item)})).collect();
        let usage = query.contains("usage").then(|| json!({"total_tokens": items.len() * 10}));
        let answers = [text(&json!({"id": "r", "results": results, "usage": usage}))];
        for format in [Format::Json, Format::Msgpack] {
            let call = if format == Format::Msgpack { msgpack(&verdict.request) } else { text(&verdict.request) };
            let asked = Host::openai().ask(&Call { reads, format, ..Call::json(Surface::Score, &call) });
            let shown = answer(&asked.expect("it can be asked"), &answers).expect("it is valid").body;
            let renamed = if reads == Content::Json {
                String::from_utf8(wanted.clone()).expect("text").replace("oracle/s3", "org/m").into_bytes()
            } else {
                [&wanted[..7], b"\xa5org/m", &wanted[17..]].concat()
            };
            if reads == Content::Json {
                let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
                assert_eq!(json(&shown), json(&renamed), "{}", verdict.case);
            } else {
                assert_eq!(shown, renamed, "{}", verdict.case);
            }
        }
    }
}

#[test]
fn rerank_is_what_sie_answers_through_either_kind() {
    for verdict in cases::<Verdict>(include_str!("../fixtures/score_rerank.json")) {
        if verdict.surface != "rerank" || is_different(&verdict) {
            continue;
        }
        let wanted: Value = serde_json::from_str(verdict.answer_text.as_deref().expect("JSON")).expect("JSON");
        let documents = verdict.request["documents"].as_array().expect("documents").iter().enumerate();
        let score = |document: &Value| f64::from(scripted(document.as_str().expect("a text"))[0]);
        let results: Vec<Value> = documents
            .map(|(place, text)| json!({"index": place, "relevance_score": score(text), "document": "x"}))
            .collect();
        for host in [Host::openai(), Host::sie()] {
            let asked = host.ask_json(Surface::Rerank, &verdict.request).expect("it can be asked");
            let answers = [text(&json!({"results": results, "usage": wanted.get("usage")}))];
            let shown = answer(&asked, &answers).expect("it is valid").body;
            let mut shown: Value = serde_json::from_slice(&shown).expect("JSON");
            shown["model"] = json!("oracle/s3");
            assert_eq!(shown, wanted, "{}", verdict.case);
        }
    }
}

#[test]
fn embeddings_are_what_sie_answers_in_either_form() {
    for verdict in cases::<Verdict>(include_str!("../fixtures/score_rerank.json")) {
        if verdict.surface != "embeddings" || is_different(&verdict) {
            continue;
        }
        let wanted: Value = serde_json::from_str(verdict.answer_text.as_deref().expect("JSON")).expect("JSON");
        let inputs = match &verdict.request["input"] {
            Value::Array(inputs) => inputs.clone(),
            one => vec![one.clone()],
        };
        let mut host = Host::openai();
        host.tasks.dense_dim = Some(3);
        let asked = host.ask_json(Surface::Embeddings, &verdict.request).expect("it can be asked");
        let usage = (wanted["usage"]["sie_token_source"] == "worker")
            .then(|| json!({"prompt_tokens": wanted["usage"]["prompt_tokens"]}));
        for as_numbers in [false, true] {
            let vector = |input: &Value| {
                let numbers = scripted(input.as_str().expect("a text"));
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                if as_numbers { json!(numbers) } else { json!(STANDARD.encode(bytes)) }
            };
            let data = inputs.iter().enumerate().rev();
            let data: Vec<Value> =
                data.map(|(index, input)| json!({"index": index, "embedding": vector(input)})).collect();
            let shown = answer(&asked, &[text(&json!({"data": data, "usage": usage}))]).expect("it is valid").body;
            let mut shown: Value = serde_json::from_slice(&shown).expect("JSON");
            shown["model"] = json!("oracle/s3");
            for (shown, wanted) in
                shown["data"].as_array().expect("data").iter().zip(wanted["data"].as_array().expect("data"))
            {
                if wanted["embedding"].is_string() {
                    assert_eq!(shown, wanted, "{}", verdict.case);
                } else {
                    assert_eq!(floats(&shown["embedding"]), floats(&wanted["embedding"]), "{}", verdict.case);
                    assert_eq!((&shown["index"], &shown["object"]), (&wanted["index"], &wanted["object"]));
                }
            }
            for member in ["object", "model", "usage"] {
                assert_eq!(shown[member], wanted[member], "{}", verdict.case);
            }
            assert_eq!(shown["data"].as_array().map(Vec::len), wanted["data"].as_array().map(Vec::len));
        }
    }
}

#[derive(Deserialize)]
struct Judged {
    surface: String,
    case: String,
    status: u16,
    body_json: Option<Value>,
    body_text: Option<String>,
    outcome: String,
}

/// Answers that SIE's reader judges otherwise.
const JUDGED_OTHERWISE: [(&str, &str, &str); 1] =
    [("openai.embeddings", "base64 string", "base64 is what an OpenAI host is asked for here")];

#[test]
fn answers_are_judged_as_sie_judges_them() {
    let mut differences = Vec::new();
    for case in cases::<Judged>(include_str!("../fixtures/upstream_answer_cases.json")) {
        let callers: &[(Surface, Value)] = &match case.surface.as_str() {
            _ if !(200..300).contains(&case.status) => continue,
            "openai.embeddings" => [
                (Surface::Embeddings, json!({"model": "org/m", "input": "t"})),
                (Surface::Encode, json!({"items": [{"text": "t"}]})),
            ],
            "openai.rerank" => [
                (Surface::Rerank, json!({"model": "org/m", "query": "q", "documents": ["a", "b"]})),
                (Surface::Score, json!({"query": {"text": "q"}, "items": [{"text": "a"}, {"text": "b"}]})),
            ],
            _ => continue,
        };
        let body =
            case.body_json.as_ref().map_or_else(|| case.body_text.clone().unwrap_or_default().into_bytes(), text);
        for (surface, call) in callers {
            let asked = Host::openai().ask_json(*surface, call).expect("it can be asked");
            match (answer(&asked, std::slice::from_ref(&body)), case.outcome.as_str()) {
                (Ok(_), "ok") => {}
                (Err(failure), "final") => assert_eq!(failure, INVALID, "{surface:?} {}", case.case),
                _ => differences.push((case.surface.clone(), case.case.clone())),
            }
        }
    }
    differences.dedup();
    let known: Vec<_> =
        JUDGED_OTHERWISE.iter().map(|(surface, case, _)| ((*surface).to_owned(), (*case).to_owned())).collect();
    assert_eq!(differences, known);
}

/// The one array of the golden fixture, as a caller of encode gets it.
#[test]
fn arrays_are_written_byte_for_byte_as_sie_writes_them() {
    let golden = "85c4026e64c3c40474797065a33c6634c4046b696e64c400c40573686170659102c40464617461c4080000803f00000040";
    let call = text(&json!({"items": [{"text": "t"}]}));
    let asked = Host::openai().ask(&Call { reads: Content::Msgpack, ..Call::json(Surface::Encode, &call) });
    let shown = answer(&asked.expect("it can be asked"), &[text(&json!({"data": [{"embedding": [1, 2]}]}))]);
    let shown = shown.expect("it is valid");
    assert_eq!(shown.content_type, "application/msgpack");
    let golden = unhex(golden);
    assert!(shown.body.windows(golden.len()).any(|window| window == golden));
}
