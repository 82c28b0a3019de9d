//! Tool calls in raw text: found wherever the text is cut, and nothing is lost.

use spillway_filters::tools::{LONGEST_CALL, Said, ToolFormat, ToolReader};

fn tools() -> Vec<String> {
    vec!["weather".into(), "time".into()]
}

fn text(text: &str) -> Said {
    Said::Text(text.into())
}

fn call(index: usize, name: &str, arguments: &str) -> Said {
    Said::Call { index, name: name.into(), arguments: arguments.into() }
}

/// What a reader says, with neighbouring texts joined.
fn read(format: ToolFormat, fragments: &[&str]) -> Vec<Said> {
    let mut reader = ToolReader::new(format, tools());
    let mut said: Vec<Said> = Vec::new();
    let mut add = |new: Vec<Said>| {
        for new in new {
            match (said.last_mut(), new) {
                (Some(Said::Text(last)), Said::Text(more)) => *last += &more,
                (_, new) => said.push(new),
            }
        }
    };
    for fragment in fragments {
        add(reader.feed(fragment));
    }
    add(reader.finish());
    said
}

fn hermes() -> Vec<(&'static str, Vec<Said>)> {
    vec![
        ("", vec![]),
        ("just text", vec![text("just text")]),
        (" \n ", vec![text(" \n ")]),
        (
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Köln\", \"n\": [1, 2.50]}}\n</tool_call>",
            vec![call(0, "weather", "{\"city\": \"Köln\", \"n\": [1, 2.50]}")],
        ),
        (
            "\nLet me see.\n<tool_call>{\"arguments\":{},\"name\":\"time\"}</tool_call>\n<tool_call>{\"name\":\"weather\",\"arguments\":{\"a\":\"</tool_call>\"}}</tool_call>\n",
            vec![text("\nLet me see.\n"), call(0, "time", "{}"), call(1, "weather", "{\"a\":\"</tool_call>\"}")],
        ),
        (
            "\n<tool_call>{\"name\":\"time\",\"arguments\":{}}</tool_call> and then",
            vec![call(0, "time", "{}"), text(" and then")],
        ),
        // The closing marker may be cut off, the call may not.
        ("<tool_call>{\"name\":\"time\",\"arguments\":{}}\n</tool", vec![call(0, "time", "{}")]),
        ("<tool_call>{\"name\":\"time\",\"argu", vec![text("<tool_call>{\"name\":\"time\",\"argu")]),
        ("<tool_call> ", vec![text("<tool_call> ")]),
        ("<tool_ca", vec![text("<tool_ca")]),
        // What is not a call of a known tool is text as it was written.
        (
            "<tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>",
            vec![text("<tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>")],
        ),
        (
            "<tool_call>{\"name\":\"time\",\"arguments\":[]}</tool_call>",
            vec![text("<tool_call>{\"name\":\"time\",\"arguments\":[]}</tool_call>")],
        ),
        ("<tool_call>{\"name\":\"time\"}</tool_call>", vec![text("<tool_call>{\"name\":\"time\"}</tool_call>")]),
        (
            "<tool_call>{name: time}</tool_call><tool_call>{\"name\":\"time\",\"arguments\":{}}</tool_call>",
            vec![text("<tool_call>{name: time}</tool_call>"), call(0, "time", "{}")],
        ),
        (
            "<tool_call>{\"name<tool_call>\n{\"name\":\"time\",\"arguments\":{}}</tool_call>",
            vec![text("<tool_call>{\"name<tool_call>\n{\"name\":\"time\",\"arguments\":{}}</tool_call>")],
        ),
        (
            "<tool_call><tool_call>{\"name\":\"time\",\"arguments\":{}}</tool_call>",
            vec![text("<tool_call>"), call(0, "time", "{}")],
        ),
        (
            "<tool_call>{\"name\":\"time\",\"arguments\":{}}x</tool_call>",
            vec![text("<tool_call>{\"name\":\"time\",\"arguments\":{}}x</tool_call>")],
        ),
        ("{\"name\":\"time\",\"arguments\":{}}", vec![text("{\"name\":\"time\",\"arguments\":{}}")]),
    ]
}

fn llama3_json() -> Vec<(&'static str, Vec<Said>)> {
    vec![
        ("{\"name\": \"time\", \"parameters\": {\"zone\": \"UTC\"}}", vec![call(0, "time", "{\"zone\": \"UTC\"}")]),
        (
            "<|python_tag|>{\"name\":\"time\",\"parameters\":{}}; {\"name\":\"weather\",\"arguments\":{\"a\":{}}};\n",
            vec![call(0, "time", "{}"), call(1, "weather", "{\"a\":{}}")],
        ),
        (
            "{\"type\":\"function\",\"name\":\"time\",\"parameters\":{}}\n<|python_tag|>{\"name\":\"time\",\"parameters\":{}}",
            vec![call(0, "time", "{}"), call(1, "time", "{}")],
        ),
        ("{\"answer\": 42}", vec![text("{\"answer\": 42}")]),
        ("{braces} are text", vec![text("{braces} are text")]),
        ("so: {\"name\":\"time\",\"parameters\":{}}", vec![text("so: {\"name\":\"time\",\"parameters\":{}}")]),
        ("<|python_tag|>print(1)", vec![text("<|python_tag|>print(1)")]),
    ]
}

fn mistral() -> Vec<(&'static str, Vec<Said>)> {
    vec![
        (
            "[TOOL_CALLS] [{\"name\": \"time\", \"arguments\": {}}, {\"name\": \"weather\", \"arguments\": {\"a\": 1}, \"id\": \"x\"}]",
            vec![call(0, "time", "{}"), call(1, "weather", "{\"a\": 1}")],
        ),
        (
            "ok [1] [TOOL_CALLS][{\"name\":\"time\",\"arguments\":{}},{\"name\":\"rm\",\"arguments\":{}}]",
            vec![text("ok [1] "), call(0, "time", "{}"), text("{\"name\":\"rm\",\"arguments\":{}}")],
        ),
        ("[TOOL_CALLS][]", vec![text("[TOOL_CALLS][]")]),
        ("[TOOL_CALLS] [1, \"]\"", vec![text("[TOOL_CALLS] [1, \"]\"")]),
        ("[[TOOL_CALLS][{\"name\":\"time\",\"arguments\":{}}]", vec![text("["), call(0, "time", "{}")]),
    ]
}

#[test]
fn no_cut_changes_what_is_said() {
    let formats =
        [(ToolFormat::Hermes, hermes()), (ToolFormat::Llama3Json, llama3_json()), (ToolFormat::Mistral, mistral())];
    for (format, (written, expected)) in
        formats.into_iter().flat_map(|(format, cases)| cases.into_iter().map(move |case| (format, case)))
    {
        assert_eq!(read(format, &[written]), expected, "{written}");
        let cuts: Vec<usize> = (0..=written.len()).filter(|cut| written.is_char_boundary(*cut)).collect();
        for (place, first) in cuts.iter().enumerate() {
            for second in &cuts[place..] {
                let fragments = [&written[..*first], &written[*first..*second], &written[*second..]];
                assert_eq!(read(format, &fragments), expected, "{fragments:?}");
            }
        }
    }
}

#[test]
fn text_is_not_held_back_for_long() {
    let mut reader = ToolReader::new(ToolFormat::Hermes, tools());
    assert_eq!(reader.feed("Hello, "), [text("Hello, ")]);
    assert_eq!(reader.feed("world <tool"), [text("world ")]);
    assert_eq!(reader.feed("box>"), [text("<toolbox>")]);
    assert_eq!(reader.feed("<tool_call>{\"name\":\"time\",\"arguments\":{}}"), []);
    assert_eq!(reader.feed("</tool_call>"), [call(0, "time", "{}")]);
    assert_eq!(reader.finish(), []);
}

#[test]
fn what_is_held_is_bounded() {
    let mut reader = ToolReader::new(ToolFormat::Hermes, tools());
    assert_eq!(reader.feed("<tool_call>{\"name\":\""), []);
    let piece = "x".repeat(LONGEST_CALL / 4);
    let said: Vec<Said> = (0..8).flat_map(|_| reader.feed(&piece)).collect();
    let lengths = said.iter().map(|said| match said {
        Said::Text(text) => text.len(),
        Said::Call { .. } => panic!("no call was made"),
    });
    assert_eq!(lengths.sum::<usize>(), "<tool_call>{\"name\":\"".len() + 8 * piece.len());
    assert_eq!(reader.finish(), []);
    let mut reader = ToolReader::new(ToolFormat::Mistral, tools());
    assert_eq!(reader.feed(&" ".repeat(100)), [text(&" ".repeat(100))]);
}

#[test]
fn formats_have_names() {
    for name in ToolFormat::NAMES {
        assert!(ToolFormat::from_name(name).is_some(), "{name}");
    }
    assert_eq!(ToolFormat::from_name("qwen"), Some(ToolFormat::Hermes));
    assert_eq!(ToolFormat::from_name("pythonic"), None);
}

proptest::proptest! {
    #[test]
    fn any_words_at_any_cut(
        format in proptest::sample::select(vec![ToolFormat::Hermes, ToolFormat::Llama3Json, ToolFormat::Mistral]),
        words in proptest::collection::vec(proptest::sample::select(vec![
            "<tool_call>", "</tool_call>", "<tool", "_call>", "[TOOL_CALLS]", "[", "]", "<|python_tag|>", "<|", ";", " ", "\n", ",",
            "{\"name\":\"time\",\"arguments\":{}}", "{\"name\":\"time\",\"parameters\":{\"a\":1}}", "{\"name\":\"rm\",\"arguments\":{}}",
            "{", "}", "\"", "\\", "é", "a",
        ]), 0..12),
        cuts in proptest::collection::vec(0_usize..300, 0..6),
    ) {
        let written = words.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= written.len() && written.is_char_boundary(*cut)).collect();
        cuts.extend([0, written.len()]);
        cuts.sort_unstable();
        let fragments: Vec<&str> = cuts.windows(2).map(|pair| &written[pair[0]..pair[1]]).collect();
        let whole = read(format, &[&written]);
        proptest::prop_assert_eq!(&read(format, &fragments), &whole);
        // Without a call, every byte is there again.
        if !whole.iter().any(|said| matches!(said, Said::Call { .. })) {
            let shown: String = whole.iter().map(|said| match said { Said::Text(text) => text.as_str(), Said::Call { .. } => "" }).collect();
            proptest::prop_assert_eq!(shown, written);
        }
    }

    #[test]
    fn no_text_panics(format in proptest::sample::select(vec!["hermes", "llama3_json", "mistral"]), written in ".{0,100}") {
        let format = ToolFormat::from_name(format).expect("a format");
        let _ = read(format, &[&written]);
    }
}
