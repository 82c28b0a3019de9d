//! Encode, score and extract at a SIE upstream.

use crate::host::{Call, Host, INVALID, answer, bodies, body, bytes, most_bytes, msgpack, read, text};
use serde_json::{Value, json};
use spillway_filters::answer::Content;
use spillway_filters::call::{self, Format};
use spillway_filters::edit::Piece;
use spillway_policies::{Cause, Class, Failure, Surface};

#[test]
fn an_upstream_is_told_what_sie_knows_and_no_id() {
    let audio = json!({"data": "aGk=", "format": "wav"});
    let item = json!({"id": "mine", "text": "a", "images": [audio], "audio": audio, "video": audio, "document": audio, "metadata": {"k": 1.50}});
    let mut told = item.clone();
    told.as_object_mut().expect("an object").remove("id");
    let mut more = item.clone();
    more["more"] = json!(1);
    let options = json!({"profile": "remote", "is_query": true, "x": [1]});
    for (surface, params) in [
        (Surface::Encode, json!({"output_types": ["dense"], "output_dtype": "int8", "instruction": "i"})),
        (Surface::Extract, json!({"labels": ["l"], "output_schema": {"a": 1}, "instruction": "i"})),
    ] {
        let mut sent = params.clone();
        sent["options"] = options.clone();
        sent["more"] = json!(1);
        let call = json!({"items": [more, {"text": "b"}], "params": sent, "more": 1});
        let mut wanted = params;
        wanted["options"] = json!({"is_query": true, "x": [1]});
        let wanted = json!({"items": [told, {"text": "b"}], "params": wanted});
        for format in [Format::Json, Format::Msgpack] {
            let held = if format == Format::Msgpack { msgpack(&call) } else { text(&call) };
            let asked = Host::sie().ask(&Call { format, ..Call::json(surface, &held) }).expect("it can be asked");
            assert_eq!(body(&asked, &held), wanted, "{surface:?}");
            assert_eq!(asked.path, format!("/v1/{}/org/name:default", surface.name()));
        }
    }
}

#[test]
fn params_are_left_out_where_there_are_none() {
    for params in [json!(null), json!({}), json!({"more": 1})] {
        let call = json!({"items": [{"text": "a"}], "params": params});
        let asked = Host::sie().ask_json(Surface::Encode, &call).expect("it can be asked");
        assert_eq!(body(&asked, &text(&call)), json!({"items": [{"text": "a"}]}));
    }
}

#[test]
fn options_beside_the_params_say_nothing() {
    for surface in [Surface::Encode, Surface::Extract] {
        for options in [json!({"profile": "remote"}), json!({"profile": 5}), json!("x")] {
            let call = json!({"items": [{"text": "a"}], "options": options});
            for format in [Format::Json, Format::Msgpack] {
                let held = if format == Format::Msgpack { msgpack(&call) } else { text(&call) };
                let details = call::inspect(surface, format, &held, &Host::RULES).expect("well-formed");
                assert_eq!((details.profile, details.rejection), (None, None), "{surface:?} {options}");
                let asked = Host::sie().ask(&Call { format, ..Call::json(surface, &held) }).expect("it can be asked");
                assert_eq!(body(&asked, &held), json!({"items": [{"text": "a"}]}), "{surface:?} {options}");
            }
        }
    }
    let call = json!({"query": {"text": "q"}, "items": [{"text": "a"}], "options": {"profile": "remote"}});
    let details = call::inspect(Surface::Score, Format::Json, &text(&call), &Host::RULES).expect("well-formed");
    assert_eq!(details.profile.as_deref(), Some("remote"), "score has no params");
}

#[test]
fn what_cannot_be_taken_apart_is_not_asked() {
    for (surface, call) in [
        (Surface::Encode, json!({"items": []})),
        (Surface::Encode, json!({"items": {}})),
        (Surface::Encode, json!({"items": [1]})),
        (Surface::Encode, json!({"items": [{}], "params": [1]})),
        (Surface::Score, json!({"items": [{"text": "a"}]})),
        (Surface::Score, json!({"items": [{"text": "a"}], "query": "q"})),
    ] {
        let asked = Host::sie().ask_json(surface, &call);
        assert_eq!(asked.map(drop), Err(Failure::new(Cause::NotReplayable, Class::Final)), "{call}");
    }
}

#[test]
fn what_is_large_stays_where_it_is_held() {
    let image = "x".repeat(100_000);
    let call = json!({"items": [{"id": "a", "text": "t", "images": [{"data": image}]}, {"text": image}], "params": {"instruction": image}});
    for format in [Format::Json, Format::Msgpack] {
        let held = if format == Format::Msgpack { msgpack(&call) } else { text(&call) };
        let asked = Host::sie().ask(&Call { format, ..Call::json(Surface::Encode, &held) }).expect("it can be asked");
        let new = |piece: &Piece| if let Piece::New(bytes) = piece { bytes.len() } else { 0 };
        assert!(asked.bodies[0].iter().map(new).sum::<usize>() < 200);
        assert!(bytes(&asked.bodies[0], &held).len() > 300_000);
        assert_eq!(body(&asked, &held)["items"][1], json!({"text": image}));
    }
}

#[test]
fn items_are_spread_over_batches_and_put_together_again() {
    let mut host = Host::sie();
    host.max_batch = Some(2);
    let call = json!({"items": [{"id": "x", "text": "a"}, {"text": "b"}, {"id": "x", "text": "c"}]});
    let dense = |number: f32| json!({"dense": {"dims": 2, "dtype": "float32", "values": [number, 0.5]}});
    let item = |id: Option<&str>, number: f32| {
        let mut item = dense(number);
        if let Some(id) = id {
            item["id"] = json!(id);
        }
        item
    };
    let asked = host.ask_json(Surface::Encode, &call).expect("it can be asked");
    let counts: Vec<Value> = bodies(&asked, &text(&call)).into_iter().map(|body| body["items"].clone()).collect();
    assert_eq!(counts, [json!([{"text": "a"}, {"text": "b"}]), json!([{"text": "c"}])]);
    let first = json!({"model": "up", "items": [dense(1.0), dense(2.0)], "timing": {"total_ms": 1}, "usage": {"input_tokens": 3, "images": 1}});
    let second = json!({"model": "up", "items": [dense(3.0)], "timing": null, "usage": {"input_tokens": 4}});
    let wanted = json!({
        "model": "org/m", "items": [item(Some("x"), 1.0), item(None, 2.0), item(Some("x"), 3.0)], "timing": null,
        "usage": {"input_tokens": 7},
    });
    assert_eq!(read(&asked, &[first.clone(), second.clone()]), Ok(wanted.clone()));
    let mut silent = second.clone();
    silent["usage"] = json!(null);
    let shown = read(&asked, &[first.clone(), silent]).expect("it is valid");
    assert_eq!(shown.get("usage"), None);
    for answers in [vec![first.clone()], vec![second.clone(), first.clone()], vec![first, second.clone(), second]] {
        assert_eq!(read(&asked, &answers), Err(INVALID));
    }
    assert_eq!(wanted["items"][0]["id"], "x");
}

#[test]
fn an_answer_has_the_outputs_and_numbers_that_were_asked_for() {
    let call = |params: Value| json!({"items": [{"text": "a"}], "params": params});
    let dense =
        |dtype: &str, values: Value| json!({"items": [{"dense": {"dims": 2, "dtype": dtype, "values": values}}]});
    for (params, dtype, values, is_valid) in [
        (json!({}), "float32", json!([1.5, 2]), true),
        (json!({"output_types": ["dense"]}), "float32", json!([1.5, 2]), true),
        (json!({"output_types": ["sparse"]}), "float32", json!([1.5, 2]), false),
        (
            json!({"output_types": ["dense"], "options": {"output_types": ["sparse"]}}),
            "float32",
            json!([1.5, 2]),
            false,
        ),
        (json!({"output_dtype": "int8"}), "int8", json!([1, -2]), true),
        (json!({"output_dtype": "", "options": {"output_dtype": "int8"}}), "int8", json!([1, -2]), true),
        (json!({"output_dtype": "int8"}), "float32", json!([1.5, 2]), false),
        (json!({"output_dtype": "ubinary"}), "binary", json!([192]), true),
        (json!({"output_dtype": "uint8"}), "uint8", json!([1, 256]), false),
    ] {
        let asked = Host::sie().ask_json(Surface::Encode, &call(params.clone())).expect("it can be asked");
        assert_eq!(read(&asked, &[dense(dtype, values)]).is_ok(), is_valid, "{params}");
    }
}

#[test]
fn batches_are_put_together_in_msgpack_too() {
    let mut host = Host::sie();
    host.max_batch = Some(1);
    let call = text(&json!({"items": [{"id": "a", "text": "a"}, {"text": "b"}]}));
    let asked =
        host.ask(&Call { reads: Content::Msgpack, ..Call::json(Surface::Extract, &call) }).expect("it can be asked");
    let item = json!({"entities": [], "relations": [], "classifications": [], "objects": [], "data": {}});
    let one = msgpack(&json!({"model": "up", "items": [item], "usage": {"input_tokens": 1}}));
    let shown = answer(&asked, &[one.clone(), one]).expect("it is valid");
    assert_eq!(shown.content_type, "application/msgpack");
    let shown: Value = rmp_serde::from_slice(&shown.body).expect("msgpack");
    assert_eq!((&shown["model"], &shown["usage"]), (&json!("org/m"), &json!({"input_tokens": 2})));
    assert_eq!((&shown["items"][0]["id"], &shown["items"][1]["id"]), (&json!("a"), &json!("item-1")));
    assert_eq!(shown.get("timing"), None);
}

#[test]
fn scores_are_asked_by_places_and_shown_by_ids() {
    let call = json!({"query": {"id": "q-1", "text": "q"}, "items": [{"id": "x", "text": "a"}, {"text": "b"}]});
    let from = json!({"model": "up", "query_id": null, "scores": [
        {"item_id": "1", "score": 0.75, "rank": 0}, {"item_id": "0", "score": 0.25, "rank": 1}], "usage": {"input_tokens": 5}});
    let wanted = json!({"model": "org/m", "query_id": "q-1", "scores": [
        {"item_id": "item-1", "score": 0.75, "rank": 0}, {"item_id": "x", "score": 0.25, "rank": 1}], "usage": {"input_tokens": 5}});
    let mut host = Host::sie();
    host.max_batch = Some(1);
    for reads in [Content::Json, Content::Msgpack] {
        let held = text(&call);
        let asked = host.ask(&Call { reads, ..Call::json(Surface::Score, &held) }).expect("it can be asked");
        let told = json!({"query": {"text": "q"}, "items": [{"id": "0", "text": "a"}, {"id": "1", "text": "b"}]});
        assert_eq!(body(&asked, &held), told, "scores of one call are asked for together");
        let bytes = if reads == Content::Msgpack { msgpack(&from) } else { text(&from) };
        let shown = answer(&asked, &[bytes]).expect("it is valid").body;
        let shown: Value = match reads {
            Content::Msgpack => rmp_serde::from_slice(&shown).expect("msgpack"),
            _ => serde_json::from_slice(&shown).expect("JSON"),
        };
        assert_eq!(shown, wanted);
    }
    let nameless = json!({"query": {"text": "q"}, "items": [{"text": "a"}, {"text": "b"}]});
    let asked = host.ask_json(Surface::Score, &nameless).expect("it can be asked");
    let mut claimed = from;
    claimed["query_id"] = json!("theirs");
    assert_eq!(read(&asked, &[claimed]).map(|shown| shown["query_id"].clone()), Ok(Value::Null));
}

#[test]
fn an_answer_is_bounded_by_what_was_asked() {
    let with = |output_types: Value, options: Value| json!({"items": [{"text": "a"}, {"text": "b"}], "params": {"output_types": output_types, "options": options}});
    let most = |surface: Surface, reads: Content, call: &Value| {
        let held = text(call);
        most_bytes(&Host::sie().ask(&Call { reads, ..Call::json(surface, &held) }).expect("it can be asked"))
    };
    let encode = |output_types: Value| most(Surface::Encode, Content::Msgpack, &with(output_types, json!({})));
    let mib = 1 << 20;
    assert_eq!(encode(json!(["dense"])), mib + 2 * (2 * 16 + 256));
    assert_eq!(encode(json!(["dense", "sparse"])), mib + 2 * ((2 + 20) * 16 + 256));
    assert_eq!(encode(json!(["dense", "multivector"])), 64 * mib);
    assert_eq!(encode(json!(null)), mib + 2 * ((2 + 20) * 16 + 256), "a profile there may say which");
    let json = |surface, options| most(surface, Content::Json, &with(json!(["dense"]), options));
    assert_eq!(json(Surface::Encode, json!({})), mib + 2 * (2 * 32 + 256));
    assert_eq!(json(Surface::Encode, json!({"output_types": ["multivector"]})), 64 * mib);
    assert_eq!(json(Surface::Extract, json!({})), 64 * mib);
    let score = json!({"query": {"text": "q"}, "items": [{"text": "a"}, {"text": "b"}]});
    assert_eq!(most(Surface::Score, Content::Json, &score), mib + 2 * 256);
}
