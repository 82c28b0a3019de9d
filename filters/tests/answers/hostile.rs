//! What an upstream may send to do harm.

use super::{INVALID, expected, json, of};
use proptest::prelude::*;
use spillway_filters::answer::{Content, Expected, check};
use spillway_policies::Surface;

#[test]
fn deep_and_wide_answers_are_refused() {
    let deep = |open: &str, close: &str| {
        format!(r#"{{"items":[{{"data":{}{}}}]}}"#, open.repeat(100_000), close.repeat(100_000))
    };
    for surface in [Surface::Encode, Surface::Extract] {
        assert_eq!(json(surface, &deep("[", "]"), &of(1)), Err(INVALID));
        assert_eq!(json(surface, &deep("{\"a\":", "}"), &of(1)), Err(INVALID));
    }
    let brackets = format!(r#"{{"items":[{{"dense":{{"values":[1]}},"x":{:?}}}]}}"#, "[".repeat(1000));
    assert!(json(Surface::Encode, &brackets, &of(1)).is_ok(), "brackets inside a text are none");
    let members: Vec<_> = (0..300).map(|n| format!("\"k{n}\":1")).collect();
    let wide = format!(r#"{{"items":[{{"entities":[]}}],{}}}"#, members.join(","));
    assert_eq!(json(Surface::Extract, &wide, &of(1)), Err(INVALID));
    let choice = r#"{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"stop"}"#;
    let many = format!(r#"{{"choices":[{}]}}"#, vec![choice; 129].join(","));
    assert_eq!(json(Surface::Chat, &many, &Expected { choices: None, ..expected() }), Err(INVALID));
    for inner in [vec![0x91; 100_000], b"\x81\xa1a".repeat(100_000), b"\x81\xc4\x01a".repeat(100_000)] {
        let deep = [b"\x81\xa5items\x91\x81\xa4data".to_vec(), inner, vec![0xc0]].concat();
        assert_eq!(check(Surface::Extract, Content::Msgpack, &deep, &of(1)), Err(INVALID));
    }
}

#[test]
fn claimed_sizes_are_not_believed() {
    for claimed in [
        &b"\xdf\xff\xff\xff\xff"[..],
        b"\x81\xa5items\xdd\xff\xff\xff\xff",
        b"\x81\xa5items\xdb\xff\xff\xff\xff",
        b"\x81\xa6scores\xdd\xff\xff\xff\xff",
    ] {
        for surface in [Surface::Encode, Surface::Extract, Surface::Score] {
            assert_eq!(check(surface, Content::Msgpack, claimed, &expected()), Err(INVALID));
        }
    }
}

/// A check that went over them once for each of them would take minutes.
#[test]
fn many_results_are_checked_in_one_go() {
    let many = 65_536;
    let ids = Expected { ids: vec![None; many], ..expected() };
    let score = |id: usize| format!(r#"{{"item_id":"{id}","score":{id}}}"#);
    let scores = |id: &dyn Fn(usize) -> usize| {
        let scores: Vec<_> = (0..many).map(|place| score(id(place))).collect();
        format!(r#"{{"scores":[{}]}}"#, scores.join(","))
    };
    let shown = json(Surface::Score, &scores(&|place| many - 1 - place), &ids).expect("each id stands once");
    assert!(shown.contains(r#"[{"item_id":"item-65535","score":65535,"rank":0}"#));
    assert_eq!(json(Surface::Score, &scores(&|place| place / 2), &ids), Err(INVALID), "each id stands twice");
    let items = format!(r#"{{"items":[{}]}}"#, vec!["{}"; many + 1].join(","));
    assert_eq!(json(Surface::Extract, &items, &expected()), Err(INVALID), "more than are taken apart");
    let unknown: Vec<_> = (0..many).map(|n| format!("\"k{n}\":{{}}")).collect();
    let item = format!(r#"{{"items":[{{{}}}]}}"#, unknown.join(","));
    assert_eq!(json(Surface::Extract, &item, &of(1)).map(|shown| shown.len() < 200), Ok(true), "they are dropped");
}

/// A walk that looked ahead on every level would go over the innermost list a hundred times.
#[test]
fn nested_data_is_walked_once() {
    let list = [&[0xdc, 0xff, 0xff][..], &[0x01; 0xffff]].concat();
    let map = [b"\x81\xa1a".repeat(100).as_slice(), &list].concat();
    let items = [&b"\x81\xa5items\x91\x81\xa4data"[..], &map].concat();
    assert!(check(Surface::Extract, Content::Msgpack, &items, &of(1)).is_ok());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(body in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        "[\\[\\]{}\":,a-z0-9]{0,80}".prop_map(String::into_bytes),
        "\\{\"(items|choices|data|results|scores|output|usage|error|text)\":[\\[\\]{}\":,a-z0-9]{0,30}\\}".prop_map(String::into_bytes),
        "\\{\"items\":\\[\\{\"(dense|sparse|multivector|entities|objects|data|error)\":[\\[\\]{}\":,a-z0-9]{0,30}\\}\\]\\}".prop_map(String::into_bytes),
    ]) {
        for surface in Surface::ALL {
            for content in [Content::Json, Content::Msgpack, Content::Text] {
                let _ = check(surface, content, &body, &of(1));
            }
        }
    }

    #[test]
    fn a_changed_byte_never_panics(at in any::<prop::sample::Index>(), byte: u8, case in 0..4_usize) {
        let mut body = super::native::samples().swap_remove(case);
        let at = at.index(body.len());
        body[at] = byte;
        for surface in [Surface::Encode, Surface::Extract, Surface::Score] {
            let _ = check(surface, Content::Msgpack, &body, &of(1));
        }
    }

    #[test]
    fn a_cut_answer_is_never_taken_for_whole(at in any::<prop::sample::Index>()) {
        let text = r#"{"model": "up", "items": [{"id": "a", "dense": {"values": [1.5]}}]}"#;
        prop_assert!(json(Surface::Encode, text, &of(1)).is_ok());
        prop_assert_eq!(json(Surface::Encode, &text[..at.index(text.len())], &of(1)), Err(INVALID));
        for bytes in super::native::samples() {
            let cut = &bytes[..at.index(bytes.len())];
            for surface in [Surface::Encode, Surface::Extract, Surface::Score] {
                prop_assert_eq!(check(surface, Content::Msgpack, cut, &of(1)), Err(INVALID));
            }
        }
    }
}
