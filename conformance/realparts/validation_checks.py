"""Does Spillway reject what SIE rejects, and in SIE's words? Its own validation beside a real sie-server's.

Every body goes to a remote_only model through Spillway, where no engine sees it, and to the upstream itself. Status,
code and field have to be the same; messages are free text.
"""

import clients
from report import Mismatch

HELLO = [{"role": "user", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
LONG = "x" * (2 * 1024 * 1024 + 1)


def _deep(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


# The good body of each surface, and what is done to it: fields set, or dropped where the value is ....
GOOD = {
    "encode": {"items": [{"text": "hello"}]},
    "score": {"query": {"text": "q"}, "items": [{"text": "a"}]},
    "extract": {"items": [{"text": "hello"}], "params": {"labels": ["x"]}},
    "generate": {"prompt": "hello", "max_new_tokens": 4},
    "completions": {"prompt": "hello", "max_tokens": 4},
    "responses": {"input": "hello", "max_output_tokens": 4},
    "chat": {"messages": HELLO, "max_tokens": 4},
    "rerank": {"query": "hello", "documents": ["a", "b"]},
    "embeddings": {"input": "hello"},
}
PATHS = {
    "encode": "/v1/encode/{model}",
    "score": "/v1/score/{model}",
    "extract": "/v1/extract/{model}",
    "generate": "/v1/generate/{model}",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "rerank": "/v1/rerank",
    "embeddings": "/v1/embeddings",
}
_SAMPLING = [
    *({"temperature": value} for value in (-0.1, "1", True, [])),
    *({"top_p": value} for value in (0, 1.01, "x")),
    *({"seed": value} for value in (1 << 63, 1.5, "x", True)),
]
_PENALTIES = [{name: value} for name in ("frequency_penalty", "presence_penalty") for value in (-2.1, 2.1, "x")]
_ITEMS = [
    {"items": ...},
    {"items": []},
    {"items": "x"},
    {"items": [1]},
    {"items": [{"text": 1}]},
    {"items": [{"id": 1, "text": "a"}]},
    {"items": [{"text": "a"}, {"text": LONG}]},
    {"items": [{"metadata": []}]},
    {"items": [{"images": [{"data": "%%%"}]}]},
    {"items": [{"text": "a", "audio": {"data": "AAAA", "zz": 1}}]},
    {"items": [{"text": "a", "audio": {"format": "wav"}}]},
    {"items": [{"text": "a", "zz": 1}], "zz": 1},
]
CHANGES = {
    "encode": [
        *_ITEMS,
        *({"params": value} for value in ("x", [], {"zz": 1}, {"instruction": 1}, {"options": []})),
        *({"params": {"output_types": value}} for value in ([], ["x"], "dense", [1], ["dense", "dense"])),
        *({"params": {"output_dtype": value}} for value in (1, "bogus")),
        *({"params": {"options": {"overflow_policy": value}}} for value in ("nope", 1, "error")),
    ],
    "score": [
        *_ITEMS,
        *({"query": value} for value in (..., None, "q", [], {"text": 1}, {"text": LONG})),
        {"items": [{"text": "a"}] * 1001},
        *({"instruction": value} for value in (1, [])),
        *({"options": value} for value in ([], "x", {"instruction": 1})),
    ],
    "extract": [
        *_ITEMS,
        *({"params": value} for value in ("x", [])),
        *({"params": {"labels": value}} for value in ("x", [1], ["x"] * 1001, [])),
        *({"params": {"output_schema": value}} for value in ([], "x", _deep(64), _deep(65))),
        {"params": {"options": {"instruction": 1}}},
    ],
    "generate": [
        *_SAMPLING,
        *_PENALTIES,
        *({"prompt": value} for value in (..., "", 1, None)),
        *({"max_new_tokens": value} for value in (..., 0, -1, 1.0, True, "4", 512, 513)),
        *({"stop": value} for value in ("x", [""], [1], {})),
        *({"stream": value} for value in (1, "x")),
        *(
            {"logit_bias": value}
            for value in ([], {"a": 1}, {"1": 101}, {"1": "1"}, dict.fromkeys(map(str, range(1025)), 1))
        ),
        *({"logprobs": True, "stream": False}, {"logprobs": 1, "stream": True}, {"top_logprobs": 3, "stream": True}),
        {"logprobs": True, "top_logprobs": 21, "stream": True},
        *({name: 1} for name in ("routing_key", "prompt_cache_key", "safety_identifier", "top_k", "model", "zz")),
        {"zz": 1, "aa": 1},
        {"images": [{"data": "AAAA"}]},
        *(
            {"images": value}
            for value in ([], "x", [{}], [{"data": "%"}], [{"data": "AB=="}], [{"data": "AAAA", "zz": 1}])
        ),
        *({"grammar": value} for value in (1, {}, {"regex": "a", "ebnf": "b"}, {"regex": 1}, {"regex": "a", "zz": 1})),
        *({"grammar": {"json_schema": value}} for value in (1, {"if": {}}, {"$ref": "http://x/"}, _deep(17))),
        *({"options": value} for value in ([], {"zz": 1}, {"default_sampling": []})),
    ],
    "completions": [
        *_SAMPLING,
        *_PENALTIES,
        *({"prompt": value} for value in (..., 1, [], ["a", "b"], [1])),
        *({"max_tokens": value} for value in (0, -1, 1.0, True, "4", 512, 513)),
        *({"stop": value} for value in ("", [""], [1], {})),
        *({"n": value} for value in (0, 2, 1.0, "x")),
        *({"stream_options": value} for value in ([], {"zz": 1}, {"include_usage": 1})),
        *({name: None} for name in ("echo", "suffix", "logprobs", "best_of", "user", "zz")),
        {"zz": 1, "aa": 1},
    ],
    "responses": [
        *_SAMPLING,
        *({"input": value} for value in (..., 1, [], [1], [{"role": "tool", "content": "x"}], [{"role": "user"}])),
        {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
        {"input": [{"role": "user", "content": "x", "zz": 1}]},
        *({"max_output_tokens": value} for value in (0, 1.0, "4", 513)),
        *({"stream": value} for value in (True, 1)),
        *({name: None} for name in ("tools", "reasoning", "metadata", "instructions", "store", "zz")),
    ],
    "chat": [
        *_SAMPLING,
        *_PENALTIES,
        *({"messages": value} for value in (..., [], "x", [1], [{"role": "x", "content": "a"}], [{"role": "user"}])),
        *(
            {"messages": [{"role": "user", "content": value}]}
            for value in (1, [1], [{"type": "text"}], [{"type": "zz"}])
        ),
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}
            ]
        },
        {"messages": [*HELLO, {"role": "tool", "content": "x"}]},
        {"messages": [{"role": "user", "content": "x", "tool_call_id": "1"}]},
        *({name: value} for name in ("max_tokens", "max_completion_tokens") for value in (0, 1.0, "4", 257)),
        *({"n": value} for value in (0, 129, 1.0)),
        *({"top_k": value} for value in (0, 1.5)),
        *({"repetition_penalty": value} for value in (0, 2.1)),
        *({"min_tokens": value} for value in (-1, 5)),
        *({"stop": value} for value in (1, [1])),
        *({"logit_bias": value} for value in ([], {"a": 1}, {"1": 101})),
        *({"logprobs": 1}, {"top_logprobs": 3}, {"logprobs": True, "top_logprobs": 21}),
        *(
            {name: 1}
            for name in ("user", "safety_identifier", "schema_in_prompt", "include_reasoning", "parallel_tool_calls")
        ),
        *({"response_format": 1}, {"chat_template_kwargs": 1}, {"chat_template_kwargs": {"zz": 1}}),
        *({"tools": value} for value in ("x", [1], [{"type": "function"}], [TOOL] * 65)),
        *(
            {"tools": [TOOL], "tool_choice": value}
            for value in ("x", 1, {"type": "function", "function": {"name": "g"}})
        ),
        {"tool_choice": "required"},
        *({"stream_options": value} for value in ([], {"zz": 1}, {"include_usage": 1})),
        *({name: None} for name in ("zz", "functions", "best_of", "metadata", "reasoning_effort", "min_p")),
        {"zz": 1, "aa": 1},
    ],
    "rerank": [
        *({"query": value} for value in (..., "", " ", 1, LONG)),
        *(
            {"documents": value}
            for value in (..., [], "x", [""], [" "], [1], ["a"] * 1001, [{"text": "a"}], ["a", LONG])
        ),
        *({"top_n": value} for value in (0, -1, 1.0, True, "1")),
        *({"return_documents": value} for value in (1, "x", None)),
        *({"options": value} for value in ([], {"overflow_policy": "nope"})),
        *({name: 1} for name in ("zz", "max_chunks_per_doc", "rank_fields", "instruction")),
    ],
    "embeddings": [
        *({"input": value} for value in (..., None, [], [1, 2], [[1]], ["a", 1], {}, ["a", LONG])),
        *({"encoding_format": value} for value in ("x", 1, "int8")),
        *({"dimensions": value} for value in (19, 0, "x")),
        *({"user": 1}, {"zz": 1}),
    ],
}


def verdict(response):
    """Status and, of a rejection, its shape, code and field."""
    if response.status_code < 400:
        return "accepted"
    body = response.json()
    detail, error = body.get("detail"), body.get("error")
    if isinstance(detail, list):
        return response.status_code, "fastapi", sorted({tuple(entry["loc"][:2]) for entry in detail})
    found, shape = (error, "openai") if error else (detail, "native")
    return response.status_code, shape, found.get("code"), found.get("param")


def _body(good, change, **more):
    changed = {**good, **change}
    return {**{name: value for name, value in changed.items() if value is not ...}, **more}


def _same(got, wanted):
    """Spillway may name the field where sie-server names none, and names no more than 64 characters of it."""
    if len(got) != 4 or len(wanted) != 4 or got[:3] != wanted[:3]:
        return got == wanted
    return wanted[3] is None or got[3] == wanted[3][:64]


def _engine_alone_knows(wanted, change):
    """Whether a model takes images is known to its engine, or to the upstream that is asked instead."""
    return wanted[2] == "unsupported_field" and ("images" in change or "image_url" in str(change))


def alike(pair, surface):
    """Every change of the good body is judged alike; all that are not are shown."""
    own_model, path = "{model}" not in PATHS[surface], PATHS[surface]
    different = []
    for change in [{}, *CHANGES[surface]]:
        answers = []
        for url, model in ((pair.through, pair.model), (pair.direct, pair.upstream_model)):
            name = model.replace("/", "__") if surface == "generate" else model
            more = {"model": model} if own_model else {}
            answers.append(clients.raw(url, path.format(model=name), _body(GOOD[surface], change, **more)))
        got, wanted = map(verdict, answers)
        if not _same(got, wanted) and not _engine_alone_knows(wanted, change):
            different.append(f"{str(change)[:110]}: got {got}, wanted {wanted}")
    if different:
        raise Mismatch(
            "\n".join([f"{len(different)} of {len(CHANGES[surface]) + 1} are judged differently", *different])
        )
