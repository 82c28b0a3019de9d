//! Where our verdict is not the reference's, and why.

/// Rows of the fixture by surface and name, with the reason.
pub(crate) type Rows = (&'static [(&'static str, &'static str)], &'static str);

pub(crate) const DIFFERENT: &[Rows] = &[
    (
        &[
            ("generate", "raw: leading BOM"),
            ("generate", "raw: text in UTF-16"),
            ("completions", "raw: leading BOM"),
            ("completions", "raw: text in UTF-16"),
            ("responses", "raw: leading BOM"),
            ("responses", "raw: text in UTF-16"),
            ("chat", "raw: leading BOM"),
            ("chat", "raw: text in UTF-16"),
            ("rerank", "raw: leading BOM"),
            ("rerank", "raw: text in UTF-16"),
            ("embeddings", "raw: leading BOM"),
            ("embeddings", "raw: text in UTF-16"),
        ],
        "JSON is UTF-8: the reference also reads UTF-16 and a byte order mark.",
    ),
    (
        &[("encode", "duplicate key: the last wins"), ("encode", "msgpack: duplicate key: the last wins")],
        "A field that stands twice is one that two readers may read differently.",
    ),
    (
        &[
            ("generate", "raw: lone surrogate escape in the text"),
            ("generate", "temperature = 1000000000000000000000000000000000000000000000... (421 characters)"),
            ("generate", "logit_bias = {\"1\":100000000000000000000000000000000000000000... (426 characters)"),
            ("completions", "raw: lone surrogate escape in the text"),
            ("responses", "raw: lone surrogate escape in the text"),
            ("chat", "raw: lone surrogate escape in the text"),
            ("chat", "messages: content part type list"),
        ],
        "The reference answers these with an unhandled exception.",
    ),
    (
        &[
            ("generate", "max_new_tokens = 99999999999999999999999999 (raw)"),
            ("generate", "logit_bias = {\"1_0\": 1}"),
            ("generate", "logit_bias = {\"\\u0661\": 1}"),
            ("chat", "logit_bias = {\"1_0\": 1}"),
            ("chat", "logit_bias = {\"\\u0661\": 1}"),
            ("rerank", "top_n = 99999999999999999999999 (raw)"),
            ("embeddings", "dimensions is true"),
            ("embeddings", "dimensions = 64.0"),
            ("embeddings", "dimensions = \"64\""),
            ("audio", "temperature '0_1'"),
            ("audio", "temperature '١'"),
        ],
        "Python reads more ways to write a number than JSON and people do.",
    ),
    (
        &[
            ("encode", "options.profile unknown"),
            ("encode", "model without encode"),
            ("score", "options.profile unknown"),
            ("extract", "options.profile unknown"),
            ("generate", "stream true on a model without streaming"),
            ("generate", "images on a text model"),
            ("generate", "grammar on a model without grammar"),
            ("generate", "options profile other"),
            ("completions", "stream on a model without streaming"),
            ("chat", "model = \"oracle/all\""),
            ("rerank", "model = \"oracle/dense\""),
            ("rerank", "options = {\"profile\": \"nope\"}"),
            ("embeddings", "model = \"oracle/gen\""),
            ("audio", "model not audio"),
        ],
        "Which profiles, tasks and inputs a model has is not a rule about fields: routing and the engine know.",
    ),
    (
        &[
            ("encode", "params.output_dtype 'bfloat16'"),
            ("encode", "params.output_dtype 'float64'"),
            ("encode", "params.output_dtype 'FLOAT32'"),
            ("encode", "params.output_dtype 'x'"),
            ("encode", "options.output_dtype bad"),
            ("encode", "options.output_dtype number"),
        ],
        "The reference finds these when the model is loaded, so its answer depends on which side serves.",
    ),
    (
        &[
            ("encode", "deep unknown field, 900 lists"),
            ("encode", "deep metadata, 900"),
            ("encode", "msgpack: unknown field 900 lists deep"),
        ],
        "Nothing that is meant nests so deep; the depth is bounded before it costs stack.",
    ),
    (
        &[
            ("generate", "grammar: $ref unresolved"),
            ("generate", "grammar: $ref cycle"),
            ("generate", "grammar: $ref root cycle"),
            ("generate", "grammar: $ref percent-encoded"),
            ("generate", "grammar: $ref fan-out over 16384 nodes"),
            ("generate", "grammar: $ref fan-out over 65536 bytes"),
        ],
        "References of a schema are resolved by whoever compiles it.",
    ),
    (
        &[("embeddings", "input = [[\"a\"]]"), ("embeddings", "input = [1.5]"), ("embeddings", "input = [[1, \"a\"]]")],
        "What is not text is token ids, however they are written.",
    ),
    (
        &[("chat", "tools: parameters bad type"), ("chat", "tools: parameters bad required")],
        "Whether a tool's parameters are a valid JSON Schema is judged by whoever reads them.",
    ),
    (
        &[
            ("chat", "messages: content image part"),
            ("chat", "messages: content image part, string url"),
            ("chat", "messages: content input_image part"),
            ("chat", "messages: content image url null"),
            ("chat", "messages: content image remote url"),
            ("chat", "messages: content image not base64"),
            ("chat", "messages: content video part"),
            ("chat", "messages: audio_url anywhere in a message"),
            ("chat", "messages: image_url anywhere in a message"),
        ],
        "Media are forwarded: an upstream may well see. What is in them is judged by whoever serves.",
    ),
    (
        &[("completions", "known unsupported beats unknown"), ("responses", "known unsupported beats unknown")],
        "Among unknown fields the first by sort order is reported, whatever it is.",
    ),
    (
        &[("rerank", "order: return_documents before sizes")],
        "Sizes are checked as the text passes, not after all fields.",
    ),
    (
        &[("embeddings", "no Content-Type"), ("embeddings", "Content-Type text/plain")],
        "JSON is read as JSON, whatever it is called.",
    ),
];
