"""Spillway between the OpenAI client and two real llama-servers: is a cold start bridged, and ended?

The local engine goes through its real life: not there (connection refused), loading (503 "Loading model"), ready.
The upstream is a second, ready llama-server, reached as any OpenAI-compatible host is.
"""

import openai

import clients
from parts import HeldWeights, LlamaServer, Spillway, free_port
from report import expect, same

MODEL = "parts/chat"
ASK = {
    "messages": [{"role": "user", "content": "Name the colour of the sky in one short sentence."}],
    "max_tokens": 12,
    "temperature": 0,
    "seed": 1,
}

CONFIGURATION = """
[engine]
preset = "llama_cpp"
base_url = "{local}"

[upstreams.other]
kind = "openai"
base_url = "{upstream}/v1"
endpoints = ["chat"]
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 8 }}

[models."parts/chat"]
tasks = {{ generate = {{ context_length = 2048, max_output_tokens = 256 }} }}
profiles.remote = {{ upstream = "other", upstream_model = "vendor/smol" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}
"""


class Scene:
    """The upstream, Spillway, and a local engine that is started on the way."""

    def __init__(self, parts, folder, binary):
        self._parts, self._folder, self._port = parts, folder, free_port()
        self.local_url = f"http://127.0.0.1:{self._port}"
        self.upstream = LlamaServer("llama-upstream", parts, folder, free_port())
        written = CONFIGURATION.format(local=self.local_url, upstream=self.upstream.url)
        self.spillway = Spillway("spillway-llama", binary, folder, written)
        self.local, self._weights = None, None

    def until_ready(self):
        for process in (self.upstream, self.spillway):
            process.until_ready()

    def start_local(self):
        """Start the local engine and hold it in its loading state."""
        self._weights = HeldWeights(self._parts, self._folder)
        self.local = LlamaServer("llama-local", self._parts, self._folder, self._port, self._weights.path)
        self.local.until_loading()

    def finish_load(self):
        self._weights.release()
        self.local.until_ready()

    def close(self):
        """Give the lease back, so that the local engine can end."""
        if self._weights is not None:
            self._weights.release()


def checks(scene):
    """What to prove, in order: the local engine is absent, then loads, then is ready."""
    return [
        ("local llama-server not there yet: OpenAI chat, buffered, is bridged", absent_buffered),
        ("local llama-server not there yet: OpenAI chat, streamed, is bridged", absent_streamed),
        ('the starting llama-server refuses with 503 "Loading model"', loading),
        ("loading llama-server: OpenAI chat, buffered, is bridged", loading_buffered),
        ("loading llama-server: OpenAI chat, streamed, is bridged", loading_streamed),
        ("loading llama-server, X-SIE-Remote: forbid: its refusal passes", loading_forbidden),
        ("loading llama-server, upstream down: its refusal is restored", restored),
        ("once llama-server is ready, chat is local, buffered and streamed", local_again),
    ]


def buffered(client, model=MODEL):
    answer = client.chat.completions.create(model=model, **ASK)
    choice = answer.choices[0]
    counts = (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens)
    return answer, (choice.message.role, choice.message.content, choice.finish_reason, counts)


def streamed(client, model=MODEL):
    chunks = list(
        client.chat.completions.create(model=model, stream=True, stream_options={"include_usage": True}, **ASK)
    )
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    text = "".join(choice.delta.content or "" for choice in choices)
    ends = [choice.finish_reason for choice in choices if choice.finish_reason]
    usage = [chunk.usage for chunk in chunks if chunk.usage]
    same(len(usage), 1, "usage chunks")
    counts = (usage[0].prompt_tokens, usage[0].completion_tokens, usage[0].total_tokens)
    return chunks, (text, ends, counts)


def _buffered_is_bridged(scene, reason):
    through, heads = clients.openai_at(scene.spillway.url)
    direct, _heads = clients.openai_at(scene.upstream.url)
    answer, got = buffered(through)
    expect(got[1], "the answer is empty")
    same(got, buffered(direct, "vendor/smol")[1], "role, text, end and usage")
    same(answer.model, MODEL, "model")
    clients.disclosed(heads, "remote", upstream="other", reason=reason)


def _streamed_is_bridged(scene, reason):
    through, heads = clients.openai_at(scene.spillway.url)
    direct, _heads = clients.openai_at(scene.upstream.url)
    chunks, got = streamed(through)
    expect(got[0], "the stream carries no text")
    same(got, streamed(direct, "vendor/smol")[1], "text, end and usage")
    same({chunk.model for chunk in chunks}, {MODEL}, "model")
    same(len({chunk.id for chunk in chunks}), 1, "ids in one stream")
    clients.disclosed(heads, "remote", upstream="other", reason=reason)


def absent_buffered(scene):
    _buffered_is_bridged(scene, "provisioning")


def absent_streamed(scene):
    _streamed_is_bridged(scene, "provisioning")


def loading(scene):
    scene.start_local()
    refusal = clients.raw(scene.local_url, "/v1/chat/completions", {"model": MODEL, **ASK})
    same(refusal.status_code, 503, "status")
    same(refusal.json()["error"]["message"], "Loading model", "message")


def loading_buffered(scene):
    _buffered_is_bridged(scene, "model_loading")


def loading_streamed(scene):
    _streamed_is_bridged(scene, "model_loading")


def loading_forbidden(scene):
    client, heads = clients.openai_at(scene.spillway.url)
    try:
        client.chat.completions.create(model=MODEL, extra_headers={"X-SIE-Remote": "forbid"}, **ASK)
    except openai.InternalServerError as error:
        same(error.status_code, 503, "status")
    else:
        expect(False, "the call was answered; it had to be refused")
    clients.disclosed(heads, "local")


def restored(scene):
    scene.upstream.stop()
    body = {"model": MODEL, **ASK}
    got = clients.raw(scene.spillway.url, "/v1/chat/completions", body)
    wanted = clients.raw(scene.local_url, "/v1/chat/completions", body)
    same((got.status_code, got.content), (wanted.status_code, wanted.content), "status and body")
    same(got.headers.get("retry-after"), None, "Retry-After, which llama-server does not send")
    disclosure = {name: value for name, value in got.headers.items() if name.startswith(("x-sie-", "spillway-"))}
    wanted = {
        "x-sie-served-by": "local",
        "x-sie-fallback-reason": "model_loading",
        "x-sie-fallback-error": "QUEUE_FULL",
        "spillway-cause": "connect",
    }
    same(disclosure, wanted, "disclosure")


def local_again(scene):
    scene.finish_load()
    through, heads = clients.openai_at(scene.spillway.url)
    direct, _heads = clients.openai_at(scene.local_url)
    same(buffered(through)[1], buffered(direct)[1], "role, text, end and usage")
    clients.disclosed(heads, "local")
    same(streamed(through)[1], streamed(direct)[1], "text, end and usage")
    clients.disclosed(heads, "local")
