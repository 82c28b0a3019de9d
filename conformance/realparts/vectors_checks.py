"""Do vectors, scores and extractions survive the bridge? What the real clients make of them, through it and without it.

Each check takes a `Pair`. Where the upstream speaks OpenAI's protocol it is asked by the OpenAI client, or by hand for
rerank, and what the SIE SDK has to return is built from that.
"""

import numpy

import clients
from pair import plain
from report import expect, same

TEXTS = ["cold start", "wide water, narrow gate", "żaba und Übermut", "", "a\nb\u0000c"]
WORDS = TEXTS[:3]
ITEMS = [{"id": "first", "text": WORDS[0]}, {"text": WORDS[1]}, {"id": "", "text": WORDS[2]}]
DTYPES = ["float32", "float16", "int8", "uint8", "binary", "ubinary"]
OUTPUTS = ["dense", "sparse", "multivector"]
# Where an upstream says how many tokens it read: SIE, then OpenAI's two ways.
TOKENS = ("input_tokens", "prompt_tokens", "total_tokens")
# A refusal is to be seen, not waited out.
AT_ONCE = {"provision_timeout_s": 3}
QUERY = {"id": "question", "text": "what opens the gate?"}


def floats_of(pair, texts):
    """The upstream's own vectors, as the OpenAI client decodes them, in the order of the texts."""
    client, _heads = clients.openai_at(pair.direct)
    answer = client.embeddings.create(model=pair.upstream_model, input=texts)
    rows = sorted(answer.data, key=lambda row: row.index)
    same([row.index for row in rows], list(range(len(texts))), "indexes of the upstream's answer")
    return [numpy.array(row.embedding, dtype=numpy.float32) for row in rows], answer.usage.prompt_tokens


def in_dtype(vector, dtype):
    """What SIE makes of a float vector: symmetric int8, uint8 over the vector's own range, or its signs packed."""
    if dtype == "int8":
        return numpy.round(vector / (numpy.abs(vector).max() or numpy.float32(1)) * 127).astype(numpy.int8)
    if dtype == "uint8":
        low, span = vector.min(), vector.max() - vector.min()
        return numpy.round((vector - low) / (span or numpy.float32(1)) * 255).astype(numpy.uint8)
    if dtype in ("binary", "ubinary"):
        return numpy.packbits(vector > 0)
    return vector.astype(dtype)


def _wanted_encode(pair, items, output_types, dtype):
    if pair.kind == "sie":
        client, _heads = clients.sie(pair.direct)
        return plain(client.encode(pair.upstream_model, items, output_types=output_types, output_dtype=dtype))
    vectors, _tokens = floats_of(pair, [item["text"] for item in items])
    ids = [{"id": item["id"]} if "id" in item else {} for item in items]
    return [plain({**name, "dense": in_dtype(vector, dtype)}) for name, vector in zip(ids, vectors, strict=True)]


def encode(pair, output_types, dtypes=DTYPES):
    """sie-sdk encode, in every dtype."""
    through, heads = clients.sie(pair.through)
    for dtype in dtypes:
        got = through.encode(pair.model, ITEMS, output_types=output_types, output_dtype=dtype, **AT_ONCE)
        wanted = _wanted_encode(pair, ITEMS, output_types, dtype)
        for mine, theirs in zip(plain(got), wanted, strict=True):
            same(set(mine), set(theirs), f"{dtype}: fields")
            for field in theirs:
                same(mine[field], theirs[field], f"{dtype}: {field}")
        same({result["model"] for result in got}, {pair.model}, "model")
        same(got[0]["request"]["served_by"], "remote", "served_by in the SDK's metadata")
        pair.disclosed(heads)


def encode_many(pair):
    """sie-sdk encode of more items than fit one default batch, one bare item, and empty text."""
    through, heads = clients.sie(pair.through)
    items = [{"id": f"{index}", "text": f"text {index}"} for index in range(70)]
    same(
        plain(through.encode(pair.model, items, provision_timeout_s=30)),
        _wanted_encode(pair, items, ["dense"], "float32"),
        "70 results",
    )
    one = through.encode(pair.model, {"text": WORDS[0]}, **AT_ONCE)
    same([plain(one)], _wanted_encode(pair, [{"text": WORDS[0]}], ["dense"], "float32"), "a bare item's result")
    pair.disclosed(heads)


def encode_json(pair, output_types):
    """The same encode as JSON: arrays are lists of the same numbers, in the same fields."""
    body = {"items": ITEMS, "params": {"output_types": output_types}}
    got = clients.raw(pair.through, f"/v1/encode/{pair.model}", body)
    same((got.status_code, got.headers["content-type"]), (200, "application/json"), "status and content type")
    answer = got.json()
    same(answer["model"], pair.model, "model")
    if pair.kind == "sie":
        wanted = clients.raw(pair.direct, f"/v1/encode/{pair.upstream_model}", body).json()
        same(plain(answer), plain(wanted), "answer")
        same([list(item) for item in answer["items"]], [list(item) for item in wanted["items"]], "order of the fields")
    else:
        vectors, tokens = floats_of(pair, WORDS)
        same([item["dense"]["values"] for item in answer["items"]], [vector.tolist() for vector in vectors], "values")
        same(answer["usage"], {"input_tokens": tokens}, "usage")


def embeddings(pair, texts=WORDS):
    """OpenAI embeddings: as base64, which is what the client asks for unasked, and as floats."""
    through, heads = clients.openai_at(pair.through)
    wanted, tokens = floats_of(pair, texts)
    for options in ({}, {"encoding_format": "float"}):
        got = through.embeddings.create(model=pair.model, input=texts, **options)
        same((got.model, got.object), (pair.model, "list"), "model and object")
        same([row.index for row in got.data], list(range(len(texts))), "indexes")
        rows = [numpy.array(row.embedding, dtype=numpy.float32) for row in got.data]
        expect(all(map(numpy.array_equal, rows, wanted)), "the vectors differ")
        same((got.usage.prompt_tokens, got.usage.total_tokens), (tokens, tokens), "usage")
        pair.disclosed(heads)
    single = through.embeddings.create(model=pair.model, input=texts[0])
    same(
        numpy.array(single.data[0].embedding, dtype=numpy.float32).tolist(),
        wanted[0].tolist(),
        "a single text's vector",
    )


def ranking_of(pair, query, documents, **options):
    """The upstream's own rerank, best first: (index, score) pairs and the tokens it counted."""
    body = {"model": pair.upstream_model, "query": query, "documents": documents, **options}
    answer = clients.raw(pair.direct, "/v1/rerank", body).json()
    found = [(row["index"], row["relevance_score"]) for row in answer["results"]]
    usage = answer.get("usage") or {}
    tokens = next((usage[name] for name in TOKENS if name in usage), None)
    return sorted(found, key=lambda row: (-row[1], row[0])), tokens


def score(pair):
    """sie-sdk score: order, ranks, ids and usage."""
    through, heads = clients.sie(pair.through)
    got = through.score(pair.model, QUERY, ITEMS, **AT_ONCE)
    if pair.kind == "sie":
        direct, _heads = clients.sie(pair.direct)
        same(plain(got), plain(direct.score(pair.upstream_model, QUERY, ITEMS)), "result")
    else:
        ranked, tokens = ranking_of(pair, QUERY["text"], WORDS)
        names = [item.get("id", f"item-{index}") for index, item in enumerate(ITEMS)]
        wanted = [(names[index], number, rank) for rank, (index, number) in enumerate(ranked)]
        same([(row["item_id"], row["score"], row["rank"]) for row in got["scores"]], wanted, "scores")
        same(got["query_id"], QUERY["id"], "query_id")
        same(got.get("usage"), None if tokens is None else {"input_tokens": tokens}, "usage")
    same(got["model"], pair.model, "model")
    pair.disclosed(heads)


def rerank(pair, version):
    """Cohere's rerank, whole, cut to the best two and, where its version has it, with the documents."""
    through, heads = clients.cohere_at(pair.through, version)
    ranked, _tokens = ranking_of(pair, QUERY["text"], WORDS)
    for top_n in (None, 2, 9):
        options = {} if top_n is None else {"top_n": top_n}
        got = through.rerank(model=pair.model, query=QUERY["text"], documents=WORDS, **options)
        same([(row.index, row.relevance_score) for row in got.results], ranked[:top_n], f"results for top_n {top_n}")
        pair.disclosed(heads)
    if version == 1:
        got = through.rerank(model=pair.model, query=QUERY["text"], documents=WORDS, return_documents=True)
        same([row.document.text for row in got.results], [WORDS[index] for index, _score in ranked], "documents")


def extract(pair):
    """sie-sdk extract: an item that works, one without an id, one that fails by itself."""
    items = [{"id": "letter", "text": "Ada met Bob in Kraków"}, {"text": "nobody"}, {"id": "empty"}]
    through, heads = clients.sie(pair.through)
    direct, _heads = clients.sie(pair.direct)
    got = through.extract(pair.model, items, labels=["person", "place"], **AT_ONCE)
    wanted = direct.extract(pair.upstream_model, items, labels=["person", "place"])
    # What an upstream says about a failure stays there: the words differ by design, the code does not.
    words = got[2]["error"].pop("message"), wanted[2]["error"].pop("message")
    expect(words[0] and words[0] != words[1], "the failing item repeats the upstream's words")
    same(plain(got), plain(wanted), "results")
    expect(got[0]["entities"], "nothing was found")
    same(got[2]["error"]["code"], "INVALID_INPUT", "code of the item that fails")
    same({result["model"] for result in got}, {pair.model}, "model")
    pair.disclosed(heads)
