"""SIE in front, OpenAI-compatible upstreams behind: is what SIE's clients get what the upstream said, in SIE's words?

The local engine is a sie-server whose loads stay latched. The upstreams are three real llama-servers (text, embeddings,
rerank) and a scripted one for what no engine here does. sie-server can reach the same upstreams by itself (its mirror
models), so Spillway's translation is also held against sie-server's own.
"""

import clients
import refusal_checks
import scripted_upstream
import text_checks
import validation_checks
import vectors_checks
from pair import Pair, listed
from parts import LlamaServer, SieServer, Spillway, free_port
from report import expect, same

CONFIGURATION = """
[engine]
preset = "sie"
base_url = "{local}"

[upstreams.text]
kind = "openai"
base_url = "{text}/v1"
endpoints = ["chat", "completions"]
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 8 }}

[upstreams.vectors]
kind = "openai"
base_url = "{vectors}/v1"
endpoints = ["embeddings"]
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 8 }}

[upstreams.ranks]
kind = "openai"
base_url = "{ranks}/v1"
endpoints = ["rerank"]
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 8 }}

[upstreams.scripted]
kind = "openai"
base_url = "{scripted}/v1"
endpoints = ["embeddings", "rerank"]
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 8 }}

[models."parts/writer"]
tasks = {{ generate = {{ context_length = 2048, max_output_tokens = 256 }} }}
profiles.remote = {{ upstream = "text", upstream_model = "vendor/smol" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."parts/hosted-text"]
remote_backed = true
tasks = {{ generate = {{ context_length = 2048, max_output_tokens = 256 }} }}
profiles.default = {{ upstream = "text", upstream_model = "vendor/smol" }}
routing = {{ policy = "remote_only" }}

[models."parts/hosted-vectors"]
remote_backed = true
tasks = {{ encode = {{ dense = {{ dim = 576 }} }} }}
profiles.default = {{ upstream = "vectors", upstream_model = "vendor/smol" }}
routing = {{ policy = "remote_only" }}

[models."parts/hosted-ranks"]
remote_backed = true
tasks = {{ score = {{}} }}
profiles.default = {{ upstream = "ranks", upstream_model = "vendor/smol" }}
routing = {{ policy = "remote_only" }}

[models."parts/scripted"]
remote_backed = true
tasks = {{ encode = {{ dense = {{ dim = {width} }} }}, score = {{}} }}
profiles.default = {{ upstream = "scripted", upstream_model = "vendor/scripted" }}
routing = {{ policy = "remote_only" }}
"""


ENDPOINTS = {
    "text": ["chat", "completions"],
    "vectors": ["embeddings"],
    "ranks": ["rerank"],
    "scripted": ["embeddings", "rerank"],
}
MIRRORS = [f"parts/mirror-{name}" for name in ENDPOINTS]


class Scene:
    """A cold sie-server, three llama-servers, the scripted upstream, and Spillway."""

    def __init__(self, parts, folder, binary):
        self.latch = folder / "writer.open"
        kinds = {"text": (), "vectors": LlamaServer.EMBEDDINGS, "ranks": LlamaServer.RERANK}
        self.llamas = {
            name: LlamaServer(f"llama-{name}", parts, folder, free_port(), serving=serving)
            for name, serving in kinds.items()
        }
        self.scripted = scripted_upstream.ScriptedUpstream()
        urls = {name: llama.url for name, llama in self.llamas.items()}
        known = {name: (self.url_of(name), endpoints) for name, endpoints in ENDPOINTS.items()}
        models = ["parts/writer", *MIRRORS]
        self.local = SieServer("sie-local", parts, folder, models, {"writer": self.latch}, MIRRORS, upstreams=known)
        written = CONFIGURATION.format(
            local=self.local.url, scripted=self.scripted.url, width=scripted_upstream.WIDTH, **urls
        )
        self.spillway = Spillway("spillway-sie-to-openai", binary, folder, written)

    def until_ready(self):
        for process in (self.local, *self.llamas.values(), self.spillway):
            process.until_ready()

    def close(self):
        """Open the latch, so that the local engine can end."""
        self.latch.touch()
        self.scripted.close()

    def url_of(self, upstream):
        return self.scripted.url if upstream == "scripted" else self.llamas[upstream].url

    def pair(self, model, upstream, reason=None):
        """Through Spillway, and the upstream itself."""
        name = "vendor/scripted" if upstream == "scripted" else "vendor/smol"
        return Pair(self.spillway.url, model, self.url_of(upstream), name, upstream, reason, kind="openai")

    def mirror(self, model, upstream):
        """Through Spillway, and sie-server's own way to the same upstream."""
        return Pair(self.spillway.url, model, self.local.url, f"parts/mirror-{upstream}", upstream)

    def stop_llamas(self):
        for llama in self.llamas.values():
            llama.stop()


def checks(scene):
    writer = scene.pair("parts/writer", "text", "model_loading")
    vectors = scene.pair("parts/hosted-vectors", "vectors")
    ranks = scene.pair("parts/hosted-ranks", "ranks")
    scripted = scene.pair("parts/scripted", "scripted")
    found = [
        ("sie-sdk generate by llama-server's completions", text_checks.generate, writer),
        ("sie-sdk stream_generate by llama-server's completions", text_checks.stream_generate, writer),
        ("OpenAI completions by llama-server", text_checks.completions, writer),
        ("OpenAI completions by llama-server, streamed", text_checks.streamed_completions, writer),
        ("OpenAI and sie-sdk responses by llama-server's completions", text_checks.responses, writer),
        ("OpenAI and sie-sdk chat by llama-server", text_checks.chat, writer),
        ("OpenAI and sie-sdk chat by llama-server, streamed", text_checks.streamed_chat, writer),
        ("sie-sdk encode by llama-server's embeddings, in every dtype", vectors_checks.encode, vectors, ["dense"]),
        ("encode as JSON by llama-server's embeddings", vectors_checks.encode_json, vectors, ["dense"]),
        ("sie-sdk encode of 70 items by llama-server's embeddings", vectors_checks.encode_many, vectors),
        ("OpenAI embeddings by llama-server, base64 and floats", vectors_checks.embeddings, vectors),
        ("sie-sdk score by llama-server's rerank", vectors_checks.score, ranks),
        ("Cohere rerank v1 by llama-server", vectors_checks.rerank, ranks, 1),
        ("Cohere rerank v2 by llama-server", vectors_checks.rerank, ranks, 2),
        ("sie-sdk encode (scripted upstream: floats, out of order)", vectors_checks.encode, scripted, ["dense"]),
        ("OpenAI embeddings (scripted upstream: floats, out of order)", vectors_checks.embeddings, scripted),
        ("sie-sdk score (scripted upstream: a score for each)", vectors_checks.score, scripted),
        ("Cohere rerank v1 (scripted upstream: a score for each)", vectors_checks.rerank, scripted, 1),
        ("Cohere rerank v2 (scripted upstream: a score for each)", vectors_checks.rerank, scripted, 2),
    ]
    return [
        *listed(found),
        ("64 items are one upstream request (scripted upstream)", one_request),
        ("no header of the caller reaches an upstream (scripted upstream)", no_caller_header),
        *listed(_mirrored(scene), "as sie-server itself translates: "),
        (
            'remote="forbid" on a remote_only model, by sie-sdk and the OpenAI client',
            lambda _scene: refusal_checks.forbidden(vectors),
        ),
        ("the llama-servers go away", Scene.stop_llamas),
        *listed(_gone(scene), "as sie-server itself refuses: "),
    ]


def _mirrored(scene):
    """The same checks, with sie-server's own remote profiles in the place of the upstream."""
    text, vectors = scene.mirror("parts/hosted-text", "text"), scene.mirror("parts/hosted-vectors", "vectors")
    ranks, scripted = scene.mirror("parts/hosted-ranks", "ranks"), scene.mirror("parts/scripted", "scripted")
    return [
        ("generate", text_checks.generate, text),
        ("stream_generate", text_checks.stream_generate, text),
        ("completions", text_checks.completions, text),
        ("responses", text_checks.responses, text),
        ("chat", text_checks.chat, text),
        ("chat, streamed", text_checks.streamed_chat, text),
        ("encode", vectors_checks.encode, vectors, ["dense"]),
        ("embeddings", vectors_checks.embeddings, vectors),
        ("score", vectors_checks.score, ranks),
        ("encode (scripted upstream)", vectors_checks.encode, scripted, ["dense"]),
        ("encode as JSON (scripted upstream)", vectors_checks.encode_json, scripted, ["dense"]),
        ("score (scripted upstream)", vectors_checks.score, scripted),
        ("rerank (scripted upstream)", vectors_checks.rerank, scripted, 1),
        ("bad bodies of generate", validation_checks.alike, text, "generate"),
        ("bad bodies of chat", validation_checks.alike, text, "chat"),
        ("bad bodies of encode", validation_checks.alike, scripted, "encode"),
        ("bad bodies of score", validation_checks.alike, scripted, "score"),
    ]


def _gone(scene):
    text, vectors = scene.mirror("parts/hosted-text", "text"), scene.mirror("parts/hosted-vectors", "vectors")
    ranks = scene.mirror("parts/hosted-ranks", "ranks")
    return [
        (
            "generate, completions, responses",
            refusal_checks.as_sie_refuses,
            text,
            ["generate", "completions", "responses"],
        ),
        ("chat", refusal_checks.as_sie_refuses, text, ["chat"]),
        ("encode, embeddings", refusal_checks.as_sie_refuses, vectors, ["encode", "embeddings"]),
        ("score, rerank", refusal_checks.as_sie_refuses, ranks, ["score", "rerank"]),
    ]


def one_request(scene):
    """A batch goes up whole: asked for base64, and answered with floats all the same."""
    client, _heads = clients.sie(scene.spillway.url)
    before = len(scene.scripted.asked)
    items = [{"text": f"text {index}"} for index in range(64)]
    got = client.encode("parts/scripted", items)
    asked = scene.scripted.asked[before:]
    same([(path, len(body["input"])) for path, body, _headers in asked], [("/v1/embeddings", 64)], "upstream requests")
    same(asked[0][1]["encoding_format"], "base64", "encoding_format")
    wanted = [scripted_upstream.vector_of(item["text"]) for item in items]
    same([result["dense"].tolist() for result in got], wanted, "vectors")


def no_caller_header(scene):
    """Names the SDK writes on every call, and one of our own, end at Spillway."""
    client, _heads = clients.openai_at(scene.spillway.url)
    before = len(scene.scripted.asked)
    client.embeddings.create(model="parts/scripted", input="x", extra_headers={"X-Mine": "secret"}, user="somebody")
    (_path, _body, headers), *more = scene.scripted.asked[before:]
    same(more, [], "further upstream requests")
    names = {name.lower() for name in headers}
    foreign = {name for name in names if name.startswith(("x-", "authorization", "cookie"))}
    same(foreign, set(), "headers that are not Spillway's own")
    same(headers.get("Accept-Encoding", headers.get("accept-encoding")), "identity", "Accept-Encoding")
    expect("openai" not in headers.get("User-Agent", headers.get("user-agent", "")).lower(), "the client's User-Agent")
