"""Does text survive the bridge? What the real clients make of it, through it and without it.

Each check takes a `Pair`. Decoding is greedy, so the same prompt gives the same text. Where the upstream speaks
OpenAI's protocol only, the native results are compared with its completions.
"""

import clients
from report import expect, same

PROMPT = "The sluice opens when the"
ASK = [{"role": "user", "content": "Name the colour of the sky in one short sentence."}]
GREEDY = {"temperature": 0, "seed": 1}
# A refusal is to be seen, not waited out.
AT_ONCE = {"provision_timeout_s": 3}


def _counts(usage):
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


def _native_counts(usage):
    return usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]


def completed(pair, tokens):
    """The upstream's own completion: text, end and usage."""
    direct, _heads = clients.openai_at(pair.direct)
    answer = direct.completions.create(model=pair.upstream_model, prompt=PROMPT, max_tokens=tokens, **GREEDY)
    choice = answer.choices[0]
    expect(choice.text, "the upstream answers with nothing")
    return choice.text, choice.finish_reason, _counts(answer.usage)


def chatted(pair, tokens):
    """The upstream's own chat answer: text, end and usage."""
    direct, _heads = clients.openai_at(pair.direct)
    answer = direct.chat.completions.create(model=pair.upstream_model, messages=ASK, max_tokens=tokens, **GREEDY)
    choice = answer.choices[0]
    expect(choice.message.content, "the upstream answers with nothing")
    return choice.message.content, choice.finish_reason, _counts(answer.usage)


def generate(pair):
    """sie-sdk generate, ended by its limit."""
    through, heads = clients.sie(pair.through)
    got = through.generate(pair.model, PROMPT, max_new_tokens=9, **GREEDY, **AT_ONCE)
    same((got["text"], got["finish_reason"], _native_counts(got["usage"])), completed(pair, 9), "text, end and usage")
    same(got["model"], pair.model, "model")
    same(got["request"]["served_by"], "remote", "served_by in the SDK's metadata")
    pair.disclosed(heads)


def stream_generate(pair):
    """sie-sdk stream_generate: one request id, numbered events, one terminal."""
    through, heads = clients.sie(pair.through)
    got = list(through.stream_generate(pair.model, PROMPT, max_new_tokens=9, **GREEDY, **AT_ONCE))
    text = "".join(chunk["text_delta"] for chunk in got)
    same((text, got[-1]["finish_reason"], _native_counts(got[-1]["usage"])), completed(pair, 9), "text, end and usage")
    same([chunk["seq"] for chunk in got], list(range(len(got))), "sequence numbers")
    same(len({chunk["request_id"] for chunk in got}), 1, "request ids in one stream")
    same([chunk["done"] for chunk in got].count(True), 1, "terminal events")
    expect(len(got) > 2, "the stream came in one piece")
    pair.disclosed(heads)


def completions(pair):
    """OpenAI completions, buffered."""
    through, heads = clients.openai_at(pair.through)
    got = through.completions.create(model=pair.model, prompt=PROMPT, max_tokens=7, **GREEDY)
    choice = got.choices[0]
    same((choice.text, choice.finish_reason, _counts(got.usage)), completed(pair, 7), "text, end and usage")
    same((got.model, got.object), (pair.model, "text_completion"), "model and object")
    pair.disclosed(heads)


def streamed_completions(pair):
    """OpenAI completions, streamed, with usage."""
    through, heads = clients.openai_at(pair.through)
    options = {"stream": True, "stream_options": {"include_usage": True}, **GREEDY}
    chunks = list(through.completions.create(model=pair.model, prompt=PROMPT, max_tokens=7, **options))
    same(_stream(chunks, lambda choice: choice.text), completed(pair, 7), "text, end and usage")
    _one_stream(pair, chunks)
    pair.disclosed(heads)


def responses(pair):
    """OpenAI responses from a prompt, with the OpenAI client and with sie-sdk."""
    wanted, _end, (prompt, completion, total) = completed(pair, 7)
    through, heads = clients.openai_at(pair.through)
    got = through.responses.create(model=pair.model, input=PROMPT, max_output_tokens=7, temperature=0)
    same((got.output_text, got.model, got.object), (wanted, pair.model, "response"), "text, model and object")
    counts = got.usage.input_tokens, got.usage.output_tokens, got.usage.total_tokens
    same(counts, (prompt, completion, total), "usage")
    pair.disclosed(heads)
    client, heads = clients.sie(pair.through)
    answer = client.responses(pair.model, PROMPT, max_output_tokens=7, temperature=0, **AT_ONCE)
    same(answer["output"][0]["content"][0]["text"], wanted, "text, by the SIE SDK")
    pair.disclosed(heads)


def chat(pair):
    """Chat, buffered, with the OpenAI client and with sie-sdk."""
    wanted = chatted(pair, 12)
    through, heads = clients.openai_at(pair.through)
    got = through.chat.completions.create(model=pair.model, messages=ASK, max_tokens=12, **GREEDY)
    choice = got.choices[0]
    same((choice.message.content, choice.finish_reason, _counts(got.usage)), wanted, "text, end and usage")
    same(
        (choice.message.role, got.model, got.object),
        ("assistant", pair.model, "chat.completion"),
        "role, model, object",
    )
    pair.disclosed(heads)
    client, heads = clients.sie(pair.through)
    answer = client.chat_completions(pair.model, ASK, max_tokens=12, **GREEDY, **AT_ONCE)
    choice = answer["choices"][0]
    native = choice["message"]["content"], choice["finish_reason"], _native_counts(answer["usage"])
    same(native, wanted, "text, end and usage, by the SIE SDK")
    pair.disclosed(heads)


def streamed_chat(pair):
    """Chat, streamed, with the OpenAI client and with sie-sdk."""
    wanted = chatted(pair, 12)
    options = {"messages": ASK, "max_tokens": 12, "stream_options": {"include_usage": True}, **GREEDY}
    through, heads = clients.openai_at(pair.through)
    chunks = list(through.chat.completions.create(model=pair.model, stream=True, **options))
    same(_stream(chunks, lambda choice: choice.delta.content or ""), wanted, "text, end and usage")
    _one_stream(pair, chunks)
    pair.disclosed(heads)
    client, heads = clients.sie(pair.through)
    pieces = list(client.stream_chat_completions(pair.model, **options, **AT_ONCE))
    text = "".join(piece["choices"][0]["delta"].get("content") or "" for piece in pieces if piece["choices"])
    same(text, wanted[0], "text, by the SIE SDK")
    pair.disclosed(heads)


def _stream(chunks, text_of):
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    ends = [choice.finish_reason for choice in choices if choice.finish_reason]
    usage = [chunk.usage for chunk in chunks if chunk.usage]
    same((len(ends), len(usage)), (1, 1), "ends and usage chunks")
    return "".join(text_of(choice) for choice in choices), ends[0], _counts(usage[0])


def _one_stream(pair, chunks):
    same({chunk.model for chunk in chunks}, {pair.model}, "model")
    same(len({chunk.id for chunk in chunks}), 1, "ids in one stream")
    expect(sum(bool(chunk.choices) for chunk in chunks) > 2, "the stream came in one piece")
