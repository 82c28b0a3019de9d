"""The shim around a real llama-server, Spillway in front: start, sleep, wake, crash, crash loop and end.

The upstream is a second, ready llama-server. The local one is started by the shim, with weights that it cannot read at
first. A second shim, started at the same time, has an engine whose model does not exist.
"""

import os
import signal

import openai

import clients
from llama_checks import ASK, MODEL, buffered, streamed
from parts import HeldWeights, LlamaServer, Shim, Spillway, free_port, resident, wait_until
from report import expect, same

CONFIGURATION = """
[engine]
preset = "llama_cpp"
base_url = "{local}"
shim = "{shim}"

[upstreams.other]
kind = "openai"
base_url = "{upstream}/v1"
endpoints = ["chat"]
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 8 }}

[models."parts/chat"]
tasks = {{ generate = {{ context_length = 2048, max_output_tokens = 256 }} }}
profiles.remote = {{ upstream = "other", upstream_model = "vendor/smol" }}
routing = {{ policy = "fallback", fallback_profile = "remote", triggers = {triggers} }}
"""
COLD = '["provisioning", "model_loading"]'
ALL = '["provisioning", "model_loading", "unhealthy"]'


class Scene:
    """Two shims with their engines, sidecars in front of them, and the upstream."""

    def __init__(self, parts, folder, binary):
        self.upstream = LlamaServer("llama-upstream", parts, folder, free_port())
        self._weights = HeldWeights(parts, folder)
        port = free_port()
        self.local = f"http://127.0.0.1:{port}"
        command = LlamaServer.start(parts, port, self._weights.path)
        self.shim = Shim("shim-llama", binary, folder, self.local, command)
        self.spillway = self._sidecar("spillway", binary, folder, self.local, self.shim, COLD)

        port = free_port()
        url, command = f"http://127.0.0.1:{port}", LlamaServer.start(parts, port, folder / "no-such-model.gguf")
        self.broken = Shim("shim-broken", binary, folder, url, command)
        self.beside_broken = self._sidecar("spillway-broken", binary, folder, url, self.broken, ALL)
        self.cold_beside_broken = self._sidecar("spillway-broken-cold", binary, folder, url, self.broken, COLD)

    def _sidecar(self, name, binary, folder, local, shim, triggers):
        written = CONFIGURATION.format(local=local, shim=shim.address, upstream=self.upstream.url, triggers=triggers)
        return Spillway(name, binary, folder, written)

    def until_ready(self):
        for process in (self.upstream, self.spillway, self.beside_broken, self.cold_beside_broken):
            process.until_ready()

    def close(self):
        """Give the lease back, so that the local engine can end."""
        self.release()

    def release(self):
        self._weights.release()

    def executed(self):
        """How many tasks the local engine has begun, by its own log, which passes through the shim."""
        return self.shim.text().count("processing task")


def checks(scene):
    """What to prove, in order of the engine's life."""
    return [
        ("cold start under the shim: every call is bridged from the first on", cold),
        ("once loaded, chat is local, and the shim tells what the local side is", loaded),
        ("people see the state, and put it to sleep: its memory is gone", asleep),
        ("the next call is bridged and wakes it", woken),
        ("kill -9 in the middle of a stream: an error in the stream, run once; then it is back", killed),
        ("an engine that cannot load is latched, refused with 502, bridged when `unhealthy` is on", latched),
        ("SIGTERM: draining at once, the stream finishes, the engine ends, its code is the shim's", drained),
    ]


def _bridged(scene, *reasons):
    client, heads = clients.openai_at(scene.spillway.url)
    expect(buffered(client)[1][1], "the answer is empty")
    reason = heads.last()[1].get("x-sie-fallback-reason")
    expect(reason in reasons, f"bridged because of {reason}, wanted one of {reasons}")
    clients.disclosed(heads, "remote", upstream="other", reason=reason)


def _until_local(scene, seconds=60):
    """Ask until the engine answers. Every call until then is bridged."""
    client, heads = clients.openai_at(scene.spillway.url)

    def served():
        buffered(client)
        return heads.last()[1]["x-sie-served-by"] == "local"

    wait_until(served, seconds, "a local answer")


def cold(scene):
    for _ in range(3):
        _bridged(scene, "provisioning", "model_loading")
    wait_until(lambda: scene.shim.state() == "loading", 30, "the shim to say loading")
    _bridged(scene, "model_loading", "provisioning")
    refused = clients.raw(scene.spillway.url, "/v1/chat/completions", {"model": "other", **ASK})
    same((refused.status_code, refused.headers.get("retry-after")), (503, "5"), "status and Retry-After")
    same(refused.json()["error"]["code"], "MODEL_LOADING", "code")
    same(scene.executed(), 0, "calls that the engine began")


def loaded(scene):
    scene.release()
    _until_local(scene)
    through, heads = clients.openai_at(scene.spillway.url)
    direct, _heads = clients.openai_at(scene.local)
    same(buffered(through)[1], buffered(direct)[1], "role, text, end and usage")
    clients.disclosed(heads, "local")
    same(streamed(through)[1], streamed(direct)[1], "text, end and usage")
    wait_until(lambda: scene.shim.told().get("identity"), 60, "the identity")
    identity = scene.shim.told()["identity"]
    unknown = [name for name, part in identity["parts"].items() if part is None]
    same(unknown, [], "parts of the identity that are not known")
    same(len(identity["digest"]), 64, "digits of its digest")


def asleep(scene):
    code, text = scene.shim.says("status")
    same(code, 0, "exit code of status")
    expect("ready" in text, f"status says: {text}")
    engine = scene.shim.engine()
    before = resident(engine)
    code, text = scene.shim.says("sleep")
    same(code, 0, f"exit code of sleep, which said {text}")
    same(scene.shim.state(), "asleep", "state")
    after = resident(engine) + resident(scene.shim.engine() or 0)
    print(f"                 engine: {before >> 20} MiB before, {after >> 20} MiB after; shim: {_own(scene) >> 10} KiB")
    expect(before > 90 << 20, f"the engine had {before} bytes")
    same(after, 0, "bytes that the engine still has")


def _own(scene):
    return resident(scene.shim.pid) - resident(scene.shim.engine() or 0)


def woken(scene):
    began = scene.executed()
    _bridged(scene, "model_loading")
    same(scene.executed(), began, "calls that the engine began")
    _until_local(scene)
    same(scene.shim.state(), "ready", "state")


def killed(scene):
    client, heads = clients.openai_at(scene.spillway.url)
    began, words = scene.executed(), 0
    ask = {**ASK, "max_tokens": 200, "messages": [{"role": "user", "content": "Tell a long story about the sea."}]}
    try:
        for chunk in client.chat.completions.create(model=MODEL, stream=True, **ask):
            words += bool(chunk.choices and chunk.choices[0].delta.content)
            if words == 2:
                os.kill(scene.shim.engine(), signal.SIGKILL)
    except openai.APIError as error:
        expect(not isinstance(error, openai.APIConnectionError), f"the connection broke instead: {error}")
    else:
        expect(False, "the stream ended as if nothing had happened")
    clients.disclosed(heads, "local")
    wait_until(lambda: scene.shim.told()["engine"].get("why") == "crashed", 10, "the shim to tell of the crash")
    same(scene.executed(), began + 1, "calls that the engine began")
    _until_local(scene)
    same(scene.shim.told()["restarts"], 1, "restarts")


def latched(scene):
    wait_until(lambda: scene.broken.told()["engine"].get("why") == "load_failed", 60, "the latch")
    starts = scene.broken.told()["restarts"]
    refused = clients.raw(scene.cold_beside_broken.url, "/v1/chat/completions", {"model": MODEL, **ASK})
    same((refused.status_code, refused.headers.get("retry-after")), (502, None), "status and Retry-After")
    same(refused.json()["error"]["code"], "MODEL_LOAD_FAILED", "code")
    client, heads = clients.openai_at(scene.beside_broken.url)
    buffered(client)
    clients.disclosed(heads, "remote", upstream="other", reason="unhealthy")
    wish = scene.broken.post("/load")
    same(wish.status_code, 503, "status of a wish to load")
    expect("retry-after" in wish.headers, "it does not say when to try again")
    same(scene.broken.told()["restarts"], starts, "restarts since the latch")
    same(scene.broken.engine(), None, "its engine")
    code, text = scene.broken.says("status")
    expect("no-such-model.gguf" in text, f"status does not show why: {text}")


def drained(scene):
    client, _heads = clients.openai_at(scene.spillway.url)
    ask = {**ASK, "max_tokens": 60, "messages": [{"role": "user", "content": "Tell a long story about the sea."}]}
    words, engine = 0, scene.shim.engine()
    for chunk in client.chat.completions.create(model=MODEL, stream=True, **ask):
        words += bool(chunk.choices and chunk.choices[0].delta.content)
        if words == 2:
            os.kill(scene.shim.pid, signal.SIGTERM)
            scene.shim.until("draining", 5)
    expect(words > 2, "the stream ended early")
    same(scene.shim.exit_code(), 0, "exit code")
    same(resident(engine), 0, "bytes that the engine still has")
