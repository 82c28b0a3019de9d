"""Spillway between sie-sdk, the OpenAI client and two real sie-servers: what is promised, and does it hold?

The local engine holds every load behind a latch, so until a latch opens no answer can be its own. The upstream is a
second, ready sie-server. Whatever is bridged must equal what the upstream says when asked directly.
"""

import threading

import numpy
import openai
import sie_sdk.client.errors

import clients
from parts import SieServer, Spillway
from report import expect, same

WRITER, LATE, VECTORS = "parts/writer", "parts/late", "parts/vectors"
HOSTED = "parts/hosted-vectors"
PROMPT = "The sluice opens when the"
TEXTS = ["cold start", "wide water, narrow gate", "żaba und Übermut"]

CONFIGURATION = """
[engine]
preset = "sie"
base_url = "{local}"

[upstreams.second]
kind = "sie"
base_url = "{upstream}"
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 32 }}

[models."parts/writer"]
tasks = {{ generate = {{ context_length = 4096, max_output_tokens = 512 }} }}
profiles.remote = {{ upstream = "second", upstream_model = "parts/writer" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."parts/late"]
tasks = {{ generate = {{ context_length = 4096, max_output_tokens = 512 }} }}
profiles.remote = {{ upstream = "second", upstream_model = "parts/late" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."parts/hosted-vectors"]
remote_backed = true
tasks = {{ encode = {{ dense = {{ dim = 64 }} }} }}
max_sequence_length = 512
profiles.default = {{ upstream = "second", upstream_model = "parts/vectors" }}
routing = {{ policy = "remote_only" }}
"""


class Scene:
    """The two engines, the latches of the local one, and Spillway in front of it."""

    def __init__(self, parts, folder, binary):
        self.latches = {model: folder / f"{model}.open" for model in ("writer", "late")}
        self.local = SieServer("sie-local", parts, folder, [WRITER, LATE], latches=self.latches)
        served = [WRITER, LATE, VECTORS]
        self.upstream = SieServer("sie-upstream", parts, folder, served, preload=served)
        written = CONFIGURATION.format(local=self.local.url, upstream=self.upstream.url)
        self.spillway = Spillway("spillway-sie", binary, folder, written)

    def until_ready(self):
        for process in (self.local, self.upstream, self.spillway):
            process.until_ready()

    def close(self):
        """Open what is still held, so that the local engine can end."""
        for model in self.latches:
            self.open(model)

    def open(self, model):
        self.latches[model].touch()


def checks(scene):
    """What to prove, in order: the latch of the writer opens on the way, then the upstream goes away."""
    return [
        ("the local engine refuses with MODEL_LOADING, the upstream answers", premise),
        ("sie-sdk list_models shows every policy, the hosted model too", models),
        ("sie-sdk generate is bridged", generate),
        ("sie-sdk stream_generate is bridged", stream_generate),
        ("OpenAI completions, buffered, is bridged", completions),
        ("OpenAI completions, streamed, is bridged", streamed_completions),
        ("OpenAI responses is bridged", responses),
        ("sie-sdk encode on a remote_only model", encode),
        ("OpenAI embeddings on a remote_only model", embeddings),
        ('remote="forbid" waits through the load and is served locally', forbid),
        ("once loaded, the next answers are local", local_again),
        ("upstream down: sie-sdk generate sees the engine's refusal", restored_generate),
        ("upstream down: sie-sdk stream_generate sees the engine's refusal", restored_stream),
        ("upstream down: the OpenAI client sees the engine's refusal", restored_completions),
        ("upstream down: the refusal's body and Retry-After are the engine's own", restored_bytes),
        ("upstream down: sie-sdk waits and is served locally after the load", waits_without_upstream),
    ]


def premise(scene):
    refusal = clients.raw(scene.local.url, "/v1/generate/parts__writer", {"prompt": PROMPT, "max_new_tokens": 4})
    same(refusal.status_code, 503, "status of the local engine")
    same(refusal.json()["detail"]["code"], "MODEL_LOADING", "code of the local engine")
    client, _heads = clients.sie(scene.upstream.url)
    expect(client.generate(WRITER, PROMPT, max_new_tokens=4)["text"], "the upstream answers with nothing")


def models(scene):
    client, _heads = clients.sie(scene.spillway.url)
    got = {model["name"]: model["routing"] for model in client.list_models()}
    hybrid = {"policy": "fallback", "upstream_kind": "sie"}
    same(got, {WRITER: hybrid, LATE: hybrid, HOSTED: {"policy": "remote_only", "upstream_kind": "sie"}}, "routing")


def bridged(heads):
    same(heads.last()[0], 200, "status")
    clients.disclosed(heads, "remote", upstream="second", reason="model_loading")


def generate(scene):
    through, heads = clients.sie(scene.spillway.url)
    direct, _heads = clients.sie(scene.upstream.url)
    got = through.generate(WRITER, PROMPT, max_new_tokens=9)
    wanted = direct.generate(WRITER, PROMPT, max_new_tokens=9)
    for field in ("model", "text", "finish_reason", "usage"):
        same(got[field], wanted[field], field)
    metadata = got["request"]
    same(metadata["served_by"], "remote", "served_by in the SDK's metadata")
    same(metadata["upstream"], "second", "upstream in the SDK's metadata")
    same(metadata["fallback_reason"], "model_loading", "fallback_reason in the SDK's metadata")
    same(heads.count(), 1, "answers the SDK needed")
    bridged(heads)


def _chunks(client):
    chunks = list(client.stream_generate(WRITER, PROMPT, max_new_tokens=9))
    text = "".join(chunk["text_delta"] for chunk in chunks)
    return chunks, text


def stream_generate(scene):
    through, heads = clients.sie(scene.spillway.url)
    direct, _heads = clients.sie(scene.upstream.url)
    got, got_text = _chunks(through)
    wanted, wanted_text = _chunks(direct)
    same(got_text, wanted_text, "text")
    same([chunk["seq"] for chunk in got], list(range(len(got))), "sequence numbers")
    same(len({chunk["request_id"] for chunk in got}), 1, "request ids in one stream")
    same([chunk["done"] for chunk in got].count(True), 1, "terminal events")
    for field in ("finish_reason", "usage"):
        same(got[-1][field], wanted[-1][field], field)
    bridged(heads)


def completions(scene):
    through, heads = clients.openai_at(scene.spillway.url)
    direct, _heads = clients.openai_at(scene.upstream.url)
    got = through.completions.create(model=WRITER, prompt=PROMPT, max_tokens=7)
    wanted = direct.completions.create(model=WRITER, prompt=PROMPT, max_tokens=7)
    same(got.model, WRITER, "model")
    same(got.object, wanted.object, "object")
    same([choice.to_dict() for choice in got.choices], [choice.to_dict() for choice in wanted.choices], "choices")
    same(got.usage.to_dict(), wanted.usage.to_dict(), "usage")
    bridged(heads)


def _completion_stream(client):
    options = {"include_usage": True}
    chunks = list(
        client.completions.create(model=WRITER, prompt=PROMPT, max_tokens=7, stream=True, stream_options=options)
    )
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    text = "".join(choice.text for choice in choices)
    ends = [choice.finish_reason for choice in choices if choice.finish_reason]
    usage = [chunk.usage.to_dict() for chunk in chunks if chunk.usage]
    return (text, ends, usage), {chunk.model for chunk in chunks}, {chunk.id for chunk in chunks}


def streamed_completions(scene):
    through, heads = clients.openai_at(scene.spillway.url)
    direct, _heads = clients.openai_at(scene.upstream.url)
    got, models, ids = _completion_stream(through)
    wanted, _models, _ids = _completion_stream(direct)
    same(got, wanted, "text, ends and usage")
    same(models, {WRITER}, "model")
    same(len(ids), 1, "ids in one stream")
    bridged(heads)


def responses(scene):
    through, heads = clients.openai_at(scene.spillway.url)
    direct, _heads = clients.openai_at(scene.upstream.url)
    got = through.responses.create(model=WRITER, input=PROMPT, max_output_tokens=7)
    wanted = direct.responses.create(model=WRITER, input=PROMPT, max_output_tokens=7)
    expect(got.output_text, "no output text")
    same(got.output_text, wanted.output_text, "output text")
    same((got.object, got.status, got.model), (wanted.object, wanted.status, WRITER), "object, status and model")
    same(got.usage.to_dict(), wanted.usage.to_dict(), "usage")
    bridged(heads)


def encode(scene):
    through, heads = clients.sie(scene.spillway.url)
    direct, _heads = clients.sie(scene.upstream.url)
    items = [{"id": f"text-{index}", "text": text} for index, text in enumerate(TEXTS)]
    got, wanted = through.encode(HOSTED, items), direct.encode(VECTORS, items)
    same([result["id"] for result in got], [item["id"] for item in items], "ids")
    for mine, theirs in zip(got, wanted, strict=True):
        same(mine["dense"].dtype, theirs["dense"].dtype, "dtype")
        expect(numpy.array_equal(mine["dense"], theirs["dense"]), f"vector of {mine['id']} differs")
    same(got[0]["request"]["served_by"], "remote", "served_by in the SDK's metadata")
    clients.disclosed(heads, "remote", upstream="second")


def embeddings(scene):
    through, heads = clients.openai_at(scene.spillway.url)
    direct, _heads = clients.openai_at(scene.upstream.url)
    got = through.embeddings.create(model=HOSTED, input=TEXTS)
    wanted = direct.embeddings.create(model=VECTORS, input=TEXTS)
    same(got.model, HOSTED, "model")
    same([row.index for row in got.data], [0, 1, 2], "indexes")
    same([row.embedding for row in got.data], [row.embedding for row in wanted.data], "vectors")
    floats = through.embeddings.create(model=HOSTED, input=TEXTS[0], encoding_format="float")
    same(floats.data[0].embedding, direct_floats(direct), "vector as floats")
    clients.disclosed(heads, "remote", upstream="second")


def direct_floats(direct):
    return direct.embeddings.create(model=VECTORS, input=TEXTS[0], encoding_format="float").data[0].embedding


def forbid(scene):
    asked_before = scene.upstream.posts()
    client, heads = clients.sie(scene.spillway.url, remote="forbid")
    opening = threading.Timer(1.0, scene.open, ["writer"])
    opening.start()
    answer = client.generate(WRITER, PROMPT, max_new_tokens=9, provision_timeout_s=40)
    opening.join()
    same(answer["request"]["served_by"], "local", "served_by in the SDK's metadata")
    expect(heads.count() > 1, "the SDK was answered at once; it had to wait for the load")
    clients.disclosed(heads, "local")
    same(scene.upstream.posts(), asked_before, "requests the upstream saw")


def local_again(scene):
    asked_before = scene.upstream.posts()
    through, heads = clients.sie(scene.spillway.url)
    direct, _heads = clients.sie(scene.local.url)
    got = through.generate(WRITER, PROMPT, max_new_tokens=9)
    same(got["text"], direct.generate(WRITER, PROMPT, max_new_tokens=9)["text"], "text")
    clients.disclosed(heads, "local")
    expect(list(through.stream_generate(WRITER, PROMPT, max_new_tokens=3))[-1]["done"], "the stream did not end")
    clients.disclosed(heads, "local")
    client, heads = clients.openai_at(scene.spillway.url)
    same(client.completions.create(model=WRITER, prompt=PROMPT, max_tokens=3).model, WRITER, "model")
    clients.disclosed(heads, "local")
    same(scene.upstream.posts(), asked_before, "requests the upstream saw")


def _refused(prove):
    """The SDK's budget is smaller than the engine's Retry-After, so the first refusal is what it reports."""
    try:
        prove()
    except sie_sdk.client.errors.ModelLoadingError as error:
        metadata = error.request or {}
        same(metadata.get("served_by"), "local", "served_by in the error's metadata")
        same(metadata.get("fallback_reason"), "model_loading", "fallback_reason in the error's metadata")
        same(metadata.get("fallback_error"), "RESOURCE_EXHAUSTED", "fallback_error in the error's metadata")
        expect("upstream" not in metadata, "the error names an upstream")
    else:
        expect(False, "the call was answered; it had to be refused")


def _refusal_head(heads):
    status, fields = heads.last()
    same(status, 503, "status")
    same(fields.get("retry-after"), "5", "Retry-After")
    same(fields.get("spillway-cause"), "connect", "Spillway-Cause")
    clients.disclosed(heads, "local", reason="model_loading", failure="RESOURCE_EXHAUSTED")


def restored_generate(scene):
    scene.upstream.stop()
    client, heads = clients.sie(scene.spillway.url)
    _refused(lambda: client.generate(LATE, PROMPT, max_new_tokens=3, provision_timeout_s=2))
    _refusal_head(heads)


def restored_stream(scene):
    client, heads = clients.sie(scene.spillway.url)
    # The streaming call sleeps out its budget and asks once more before it reports.
    _refused(lambda: list(client.stream_generate(LATE, PROMPT, max_new_tokens=3, provision_timeout_s=1)))
    _refusal_head(heads)


def restored_completions(scene):
    client, heads = clients.openai_at(scene.spillway.url)
    try:
        client.completions.create(model=LATE, prompt=PROMPT, max_tokens=3)
    except openai.InternalServerError as error:
        same((error.status_code, error.code), (503, "MODEL_LOADING"), "status and code")
    else:
        expect(False, "the call was answered; it had to be refused")
    _refusal_head(heads)


def restored_bytes(scene):
    body = {"prompt": PROMPT, "max_new_tokens": 3}
    got = clients.raw(scene.spillway.url, "/v1/generate/parts__late", body)
    wanted = clients.raw(scene.local.url, "/v1/generate/parts__late", body)
    same((got.status_code, got.content), (wanted.status_code, wanted.content), "status and body")
    for field in ("content-type", "retry-after", "x-sie-runtime-instance", "server"):
        same(got.headers.get(field), wanted.headers.get(field), field)
    same(got.reason_phrase, wanted.reason_phrase, "reason phrase")


def waits_without_upstream(scene):
    client, heads = clients.sie(scene.spillway.url)
    opening = threading.Timer(1.0, scene.open, ["late"])
    opening.start()
    answer = client.generate(LATE, PROMPT, max_new_tokens=5, provision_timeout_s=40)
    opening.join()
    same(answer["request"]["served_by"], "local", "served_by in the SDK's metadata")
    expect(heads.count() > 1, "the SDK was answered at once; it had to wait for the load")
