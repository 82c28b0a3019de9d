//! Which fields do encode, score and extract accept (contract section 1.3)? Others are ignored, except inside `audio`.

use super::body::PROFILE;
use super::notes::Notes;
use super::rule::{Base64, Field, List, Rule, Table, Text, Unknown, field};
use super::schema;
use super::seen::{Disagreement, Facts, Rank, Seen};
use super::tree::{Size, Tree};
use super::{MIB, Sheet};

const CODE: &str = "INVALID_INPUT";

pub(super) static ENCODE: Sheet = Sheet::new(
    &Table::of(&[
        ITEMS,
        field!(
            "params",
            Rule::Object(&Table::of(&[
                OUTPUT_TYPES,
                OUTPUT_DTYPE,
                INSTRUCTION,
                field!("options", Rule::Object(&ENCODE_OPTIONS), "an object"),
            ])),
            "an object"
        ),
    ]),
    CODE,
)
.holding(34 * MIB);

pub(super) static SCORE: Sheet = Sheet::new(
    &Table::of(&[
        field!("query", Rule::Object(&ITEM), "one item with at most 2 MiB of text and metadata").required(),
        field!(
            "items",
            Rule::List(&List::of(Rule::Object(&ITEM)).counting(1, 1000)),
            "a list of 1 to 1000 items with at most 2 MiB of text and metadata each"
        )
        .required(),
        INSTRUCTION,
        field!("options", Rule::Object(&OPTIONS), "an object"),
    ]),
    CODE,
)
.holding(34 * MIB);

pub(super) static EXTRACT: Sheet = Sheet::new(
    &Table::of(&[
        ITEMS,
        field!(
            "params",
            Rule::Object(&Table::of(&[
                field!("labels", Rule::List(&List::of(Rule::TEXT).counting(0, 1000)), "a list of at most 1000 texts"),
                field!("output_schema", Rule::Tree(&schema::OUTPUT), "an object"),
                INSTRUCTION,
                field!("options", Rule::Object(&OPTIONS), "an object"),
            ])),
            "an object"
        ),
    ]),
    CODE,
)
.holding(34 * MIB);

const OUTPUTS: List = List::of(Rule::Text(Text::word(&["dense", "multivector", "sparse"]))).counting(1, usize::MAX);

const OUTPUT_TYPES: Field =
    field!("output_types", Rule::List(&OUTPUTS), "a list of `dense`, `sparse` or `multivector`");

const ITEMS: Field = field!(
    "items",
    Rule::List(&SOME_ITEMS),
    "a list of at least one item, with at most 2 MiB of text and metadata each"
)
.required();

const SOME_ITEMS: List = List::of(Rule::Object(&ITEM)).counting(1, usize::MAX);

const INSTRUCTION: Field = field!("instruction", Rule::TEXT, "a text");

const OVERFLOW: Field = field!(
    "overflow_policy",
    Rule::Text(Text::word(&["default", "error", "truncate_text"])),
    "`default`, `truncate_text` or `error`"
);

const OUTPUT_DTYPE: Field = field!(
    "output_dtype",
    Rule::Text(Text::word(&["", "binary", "float16", "float32", "int8", "ubinary", "uint8"])),
    "`float32`, `float16`, `int8`, `uint8`, `binary` or `ubinary`"
);

static ENCODE_OPTIONS: Table = Table::of(&[PROFILE, OVERFLOW, OUTPUT_TYPES.not_null(), OUTPUT_DTYPE]);

/// What every surface with options takes.
pub(super) static PLAIN_OPTIONS: Table = Table::of(&[PROFILE, OVERFLOW]);

static OPTIONS: Table = Table::of(&[PROFILE, INSTRUCTION, OVERFLOW]);

/// The most text of one item, its metadata included.
pub(super) const MOST_TEXT: usize = 2 * MIB;

static ITEM: Table = Table::of(&[
    field!("id", Rule::TEXT, "a text"),
    field!("text", Rule::TEXT, "a text"),
    field!("images", Rule::List(&List::of(Rule::Object(&MEDIA))), "a list of images"),
    field!("audio", Rule::Object(&AUDIO), "an object with `data`"),
    field!("video", Rule::Object(&MEDIA), "an object with `data`"),
    field!("document", Rule::Object(&MEDIA), "an object with `data`"),
    field!("metadata", Rule::Tree(&METADATA), "an object"),
])
.agreeing(fits);

static METADATA: Tree = Tree { depth: 128, values: u32::MAX, size: Size::Msgpack, schema: None };

const DATA: Rule = Rule::Bytes(Base64 { canonical: false, least: 0, most: usize::MAX });

static MEDIA: Table = Table::of(&[
    field!("data", DATA, "bytes: base64 in JSON, binary in msgpack").not_null(),
    field!("format", Rule::TEXT, "a text"),
]);

static AUDIO: Table = Table::of(&[
    field!("data", DATA, "bytes: base64 in JSON, binary in msgpack").required(),
    field!("format", Rule::TEXT, "a text"),
    field!("sample_rate", Rule::SEED, "a whole number"),
])
.closed(Unknown::First { code: None });

fn fits(item: &Facts<'_>, _: &Notes) -> Option<Disagreement> {
    let text = if let Seen::Text { bytes, .. } = item.of("text") { bytes as usize } else { 0 };
    // One byte is the head of an empty object, which counts for nothing.
    let metadata = if let Seen::Tree { bytes: bytes @ 2.., .. } = item.of("metadata") { bytes as usize } else { 0 };
    let message = "an item may hold at most 2 MiB of text and metadata: split it";
    (text.saturating_add(metadata) > MOST_TEXT).then(|| Disagreement::whole(Rank::Last, message))
}
