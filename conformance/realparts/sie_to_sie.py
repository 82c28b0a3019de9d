"""SIE in front, SIE as the upstream: is every surface the same through the bridge?

The local engine holds its loads behind latches that stay shut, so it refuses whatever it is asked. The upstream is a
second, ready sie-server; its chat model stands on a real llama-server.
"""

import audio_checks
import clients
import text_checks
import validation_checks
import vectors_checks
from pair import Pair, listed, plain
from parts import LlamaServer, SieServer, Spillway, free_port
from report import expect, same

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
tasks = {{ generate = {{ context_length = 2048, max_output_tokens = 256 }} }}
profiles.remote = {{ upstream = "second", upstream_model = "parts/talker" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."parts/reader"]
tasks = {{ extract = {{}} }}
profiles.remote = {{ upstream = "second", upstream_model = "parts/reader" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."parts/ears"]
tasks = {{ transcribe = {{}}, extract = {{}} }}
profiles.remote = {{ upstream = "second", upstream_model = "parts/ears" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."parts/hosted-ears"]
remote_backed = true
tasks = {{ transcribe = {{}}, extract = {{}} }}
profiles.default = {{ upstream = "second", upstream_model = "parts/ears" }}
routing = {{ policy = "remote_only" }}

[models."parts/hosted-numbers"]
remote_backed = true
tasks.encode = {{ dense = {{ dim = 20 }}, sparse = {{ dim = 100 }}, multivector = {{ dim = 12 }} }}
tasks.score = {{}}
tasks.extract = {{}}
max_sequence_length = 512
profiles.default = {{ upstream = "second", upstream_model = "parts/numbers" }}
routing = {{ policy = "remote_only" }}

[models."parts/hosted-writer"]
remote_backed = true
tasks = {{ generate = {{ context_length = 4096, max_output_tokens = 512 }} }}
profiles.default = {{ upstream = "second", upstream_model = "parts/writer" }}
routing = {{ policy = "remote_only" }}

[models."parts/hosted-talker"]
remote_backed = true
tasks = {{ generate = {{ context_length = 2048, max_output_tokens = 256 }} }}
profiles.default = {{ upstream = "second", upstream_model = "parts/talker" }}
routing = {{ policy = "remote_only" }}

[models."parts/numbers"]
tasks.encode = {{ dense = {{ dim = 20 }}, sparse = {{ dim = 100 }}, multivector = {{ dim = 12 }} }}
tasks.score = {{}}
tasks.extract = {{}}
max_sequence_length = 512
profiles.default = {{}}
profiles.remote = {{ upstream = "second", upstream_model = "parts/numbers" }}
"""
COLD = ["parts/writer", "parts/late", "parts/reader", "parts/ears"]
WARM = ["parts/writer", "parts/reader", "parts/numbers", "parts/ears", "parts/talker"]


class Scene:
    """Two sie-servers, a llama-server behind the second, and Spillway in front of the first."""

    def __init__(self, parts, folder, binary):
        self.latches = {model.rpartition("/")[2]: folder / f"{model.rpartition('/')[2]}.open" for model in COLD}
        self.behind = LlamaServer("llama-behind", parts, folder, free_port())
        self.local = SieServer("sie-local", parts, folder, COLD, latches=self.latches)
        behind = {"behind": (self.behind.url, ["chat"])}
        self.upstream = SieServer("sie-upstream", parts, folder, WARM, preload=WARM, upstreams=behind)
        written = CONFIGURATION.format(local=self.local.url, upstream=self.upstream.url)
        self.spillway = Spillway("spillway-sie-to-sie", binary, folder, written)

    def until_ready(self):
        for process in (self.behind, self.local, self.upstream, self.spillway):
            process.until_ready()

    def close(self):
        """Open every latch, so that the local engine can end."""
        for latch in self.latches.values():
            latch.touch()

    def pair(self, model, upstream_model, reason=None):
        return Pair(self.spillway.url, model, self.upstream.url, upstream_model, "second", reason)


def checks(scene):
    writer = scene.pair("parts/writer", "parts/writer", "model_loading")
    talker = scene.pair("parts/late", "parts/talker", "model_loading")
    reader = scene.pair("parts/reader", "parts/reader", "model_loading")
    ears = scene.pair("parts/ears", "parts/ears", "model_loading")
    hosted_ears = scene.pair("parts/hosted-ears", "parts/ears")
    numbers = scene.pair("parts/hosted-numbers", "parts/numbers")
    named = scene.pair("parts/numbers:remote", "parts/numbers")
    text, vectors = text_checks, vectors_checks
    found = [
        ("sie-sdk generate", text.generate, writer),
        ("sie-sdk stream_generate", text.stream_generate, writer),
        ("OpenAI completions", text.completions, writer),
        ("OpenAI completions, streamed", text.streamed_completions, writer),
        ("OpenAI and sie-sdk responses", text.responses, writer),
        ("OpenAI and sie-sdk chat", text.chat, talker),
        ("OpenAI and sie-sdk chat, streamed", text.streamed_chat, talker),
        ("sie-sdk extract", vectors.extract, reader),
        ("OpenAI audio transcriptions", audio_checks.transcriptions, ears),
        ("remote_only: OpenAI audio transcriptions", audio_checks.transcriptions, hosted_ears),
        ("remote_only: sie-sdk extract", vectors.extract, numbers),
        ("remote_only: sie-sdk encode of dense, in every dtype", vectors.encode, numbers, ["dense"]),
        ("remote_only: sie-sdk encode of sparse, in every dtype", vectors.encode, numbers, ["sparse"]),
        ("remote_only: sie-sdk encode of multivectors, in every dtype", vectors.encode, numbers, ["multivector"]),
        ("remote_only: sie-sdk encode of all three", vectors.encode, numbers, vectors.OUTPUTS),
        ("remote_only: sie-sdk encode of 70 items and of one", vectors.encode_many, numbers),
        ("remote_only: encode as JSON", vectors.encode_json, numbers, vectors.OUTPUTS),
        ("remote_only: OpenAI embeddings, base64 and floats", vectors.embeddings, numbers),
        ("remote_only: sie-sdk score", vectors.score, numbers),
        ("remote_only: Cohere rerank v1", vectors.rerank, numbers, 1),
        ("remote_only: Cohere rerank v2", vectors.rerank, numbers, 2),
        ("named remote profile: sie-sdk encode", vectors.encode, named, vectors.OUTPUTS),
        ("named remote profile: sie-sdk score", vectors.score, named),
        ("named remote profile: Cohere rerank v1", vectors.rerank, named, 1),
        ("named remote profile: OpenAI embeddings", vectors.embeddings, named),
    ]
    return [
        ("the list of models, as the OpenAI client and sie-sdk read it", models),
        *listed(found),
        *listed(_validation(scene), "judged as sie-server does: "),
        ("options.profile names the remote profile: sie-sdk encode and score", by_option),
    ]


def models(scene):
    """Both clients find every model: those of the engine, those that only an upstream has."""
    hosted = {f"parts/hosted-{name}" for name in ("ears", "numbers", "writer", "talker")}
    wanted = {*COLD, *hosted}
    client, _heads = clients.openai_at(scene.spillway.url)
    listed_models = list(client.models.list())
    found = {model.id for model in listed_models}
    expect(wanted <= found, f"the OpenAI client does not see {sorted(wanted - found)}")
    same({model.object for model in listed_models}, {"model"}, "object of each model")
    sdk, _heads = clients.sie(scene.spillway.url)
    found = {model["name"]: model["routing"] for model in sdk.list_models()}
    expect(wanted <= set(found), f"sie-sdk does not see {sorted(wanted - set(found))}")
    same({found[name]["policy"] for name in hosted}, {"remote_only"}, "policy of the hosted models")
    one = sdk.get_model("parts/hosted-numbers")
    same((one["name"], one["routing"]["upstream_kind"]), ("parts/hosted-numbers", "sie"), "get_model")
    same(client.models.retrieve("parts/hosted-numbers").id, "parts/hosted-numbers", "retrieve")


def _validation(scene):
    """Each surface on a model that only the upstream serves."""
    writer = scene.pair("parts/hosted-writer", "parts/writer")
    talker = scene.pair("parts/hosted-talker", "parts/talker")
    numbers = scene.pair("parts/hosted-numbers", "parts/numbers")
    pairs = {"chat": talker} | dict.fromkeys(("generate", "completions", "responses"), writer)
    return [(name, validation_checks.alike, pairs.get(name, numbers), name) for name in validation_checks.GOOD]


def by_option(scene):
    """A profile named in the options is served as written, like one named in the model."""
    through, heads = clients.sie(scene.spillway.url)
    direct, _heads = clients.sie(scene.upstream.url)
    options = {"profile": "remote"}
    got = through.encode("parts/numbers", vectors_checks.ITEMS, options=options)
    wanted = direct.encode("parts/numbers", vectors_checks.ITEMS)
    same(plain(got), plain(wanted), "vectors")
    clients.disclosed(heads, "remote", upstream="second")
    got = through.score("parts/numbers", vectors_checks.QUERY, vectors_checks.ITEMS, options=options)
    wanted = direct.score("parts/numbers", vectors_checks.QUERY, vectors_checks.ITEMS)
    same(plain(got), plain(wanted), "scores")
    clients.disclosed(heads, "remote", upstream="second")
