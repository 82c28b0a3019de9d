"""llama-server in front, SIE as the upstream: is the cold start bridged, and does SIE's own API work beside it?

The local engine is first not there (connection refused), then loading (503 "Loading model"). The upstream is a ready
sie-server, its chat model standing on a llama-server of its own.
"""

import dataclasses

import text_checks
import vectors_checks
from pair import Pair, listed
from parts import HeldWeights, LlamaServer, SieServer, Spillway, free_port

CONFIGURATION = """
[engine]
preset = "llama_cpp"
base_url = "{local}"

[upstreams.second]
kind = "sie"
base_url = "{upstream}"
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 32 }}

[models."parts/chat"]
tasks = {{ generate = {{ context_length = 2048, max_output_tokens = 256 }} }}
profiles.remote = {{ upstream = "second", upstream_model = "parts/talker" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."parts/writer"]
tasks = {{ generate = {{ context_length = 4096, max_output_tokens = 512 }} }}
profiles.remote = {{ upstream = "second", upstream_model = "parts/writer" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."parts/hosted-numbers"]
remote_backed = true
tasks.encode = {{ dense = {{ dim = 20 }}, sparse = {{ dim = 100 }}, multivector = {{ dim = 12 }} }}
tasks.score = {{}}
tasks.extract = {{}}
max_sequence_length = 512
profiles.default = {{ upstream = "second", upstream_model = "parts/numbers" }}
routing = {{ policy = "remote_only" }}
"""
WARM = ["parts/writer", "parts/numbers", "parts/talker"]


class Scene:
    """The upstream and its llama-server, Spillway, and a local engine that is started on the way."""

    def __init__(self, parts, folder, binary):
        self._parts, self._folder, self._port = parts, folder, free_port()
        self.behind = LlamaServer("llama-behind", parts, folder, free_port())
        behind = {"behind": (self.behind.url, ["chat"])}
        self.upstream = SieServer("sie-upstream", parts, folder, WARM, preload=WARM, upstreams=behind)
        written = CONFIGURATION.format(local=f"http://127.0.0.1:{self._port}", upstream=self.upstream.url)
        self.spillway = Spillway("spillway-llama-to-sie", binary, folder, written)
        self._weights = None

    def until_ready(self):
        for process in (self.behind, self.upstream, self.spillway):
            process.until_ready()

    def start_local(self):
        """Start the local engine and hold it in its loading state."""
        self._weights = HeldWeights(self._parts, self._folder)
        LlamaServer("llama-local", self._parts, self._folder, self._port, self._weights.path).until_loading()

    def close(self):
        """Give the lease back, so that the local engine can end."""
        if self._weights is not None:
            self._weights.release()

    def pair(self, model, upstream_model, reason=None):
        return Pair(self.spillway.url, model, self.upstream.url, upstream_model, "second", reason)


def checks(scene):
    """What to prove, in order: the local engine is absent, then loads."""
    chat = scene.pair("parts/chat", "parts/talker", "provisioning")
    writer = scene.pair("parts/writer", "parts/writer", "provisioning")
    numbers = scene.pair("parts/hosted-numbers", "parts/numbers")
    text, vectors = text_checks, vectors_checks
    return [
        *listed(_text(chat, writer), "llama-server not there: "),
        *listed([("sie-sdk generate", text.generate, writer)], "llama-server not there: "),
        *listed([("sie-sdk stream_generate", text.stream_generate, writer)], "llama-server not there: "),
        ("the starting llama-server is loading", Scene.start_local),
        *listed(_text(*(_loading(pair) for pair in (chat, writer))), "llama-server loading: "),
        *listed(_numbers(vectors, numbers), "remote_only: "),
    ]


def _loading(pair):
    return dataclasses.replace(pair, reason="model_loading")


def _text(chat, writer):
    return [
        ("OpenAI and sie-sdk chat", text_checks.chat, chat),
        ("OpenAI and sie-sdk chat, streamed", text_checks.streamed_chat, chat),
        ("OpenAI completions", text_checks.completions, writer),
        ("OpenAI completions, streamed", text_checks.streamed_completions, writer),
        ("OpenAI and sie-sdk responses", text_checks.responses, writer),
    ]


def _numbers(vectors, numbers):
    return [
        ("sie-sdk encode of all three, in every dtype", vectors.encode, numbers, vectors.OUTPUTS),
        ("encode as JSON", vectors.encode_json, numbers, vectors.OUTPUTS),
        ("OpenAI embeddings, base64 and floats", vectors.embeddings, numbers),
        ("sie-sdk score", vectors.score, numbers),
        ("sie-sdk extract", vectors.extract, numbers),
        ("Cohere rerank v1", vectors.rerank, numbers, 1),
        ("Cohere rerank v2", vectors.rerank, numbers, 2),
    ]
