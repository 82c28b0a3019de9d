"""The shim around a real llama-server in router mode, which holds a call for a model until it is loaded.

Spillway must refuse and bridge that call instead, the shim must load the model, and sleep must give its memory back.
"""

import httpx

import clients
from llama_checks import ASK, buffered
from parts import HeldWeights, LlamaServer, Shim, Spillway, free_port, resident, wait_until
from report import expect, same

MODEL = "smol"
CONFIGURATION = """
[engine]
preset = "llama_cpp_router"
base_url = "{local}"
shim = "{shim}"

[upstreams.other]
kind = "openai"
base_url = "{upstream}/v1"
endpoints = ["chat"]
rate_cap = {{ requests_per_minute = 6000, max_concurrency = 8 }}

[models.smol]
tasks = {{ generate = {{ context_length = 2048, max_output_tokens = 256 }} }}
profiles.remote = {{ upstream = "other", upstream_model = "vendor/smol" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}
"""


class Scene:
    """The router under its shim, the upstream, and Spillway."""

    def __init__(self, parts, folder, binary):
        self.upstream = LlamaServer("llama-upstream", parts, folder, free_port())
        (folder / "models").mkdir()
        self.weights = HeldWeights(parts, folder, "models/smol.gguf")
        port = free_port()
        self.local = f"http://127.0.0.1:{port}"
        command = LlamaServer.start_router(parts, port, ["--models-dir", folder / "models"])
        self.shim = Shim("shim-router", binary, folder, self.local, command)
        written = CONFIGURATION.format(local=self.local, shim=self.shim.address, upstream=self.upstream.url)
        self.spillway = Spillway("spillway-router", binary, folder, written)

    def until_ready(self):
        for process in (self.upstream, self.spillway):
            process.until_ready()
        self.shim.ready_when(lambda: self.shim.state() == "ready", 30)

    def close(self):
        """Give the lease back, so that the local engine can end."""
        self.weights.release()

    def model(self):
        """What the shim says of the model."""
        return self.shim.told()["models"].get(MODEL, {}).get("state")

    def loads(self):
        """How many loads the router has begun, by its own log."""
        return self.shim.text().count("spawning server instance with name=smol")


def checks(scene):
    """What to prove, in order: the model is loaded, unloaded, and loaded again."""
    return [
        ("a call for a model that is not loaded would hang at the router; through Spillway it is bridged", spared),
        ("the shim asked for one load, and the call after it is local", loaded),
        ("asleep: the router has unloaded the model, and its memory is gone", asleep),
        ("the next call is bridged and loads it again", again),
    ]


def _bridged(scene):
    client, heads = clients.openai_at(scene.spillway.url)
    expect(buffered(client, MODEL)[1][1], "the answer is empty")
    clients.disclosed(heads, "remote", upstream="other", reason="model_loading")


def _until_local(scene):
    client, heads = clients.openai_at(scene.spillway.url)

    def served():
        buffered(client, MODEL)
        return heads.last()[1]["x-sie-served-by"] == "local"

    wait_until(served, 60, "a local answer")


def spared(scene):
    same(scene.model(), "absent", "the model's state")
    for _ in range(3):
        _bridged(scene)
    wait_until(lambda: scene.model() == "loading", 10, "the load")
    _bridged(scene)
    try:
        httpx.post(f"{scene.local}/v1/chat/completions", json={"model": MODEL, **ASK}, timeout=2)
    except httpx.ReadTimeout:
        return
    expect(False, "the router answered; it had to hold the call")


def loaded(scene):
    scene.weights.release()
    _until_local(scene)
    same(scene.model(), "ready", "the model's state")
    same(scene.loads(), 1, "loads")


def asleep(scene):
    before = resident(scene.shim.engine())
    code, text = scene.shim.says("sleep", MODEL)
    same(code, 0, f"exit code of sleep, which said {text}")
    wait_until(lambda: resident(scene.shim.engine()) < before - (90 << 20), 20, "the memory to go")
    after = resident(scene.shim.engine())
    print(f"                 router and model: {before >> 20} MiB before, {after >> 20} MiB after")
    listed = httpx.get(f"{scene.local}/models").json()["data"][0]["status"]["value"]
    same(listed, "unloaded", "what the router says of the model")


def again(scene):
    _bridged(scene)
    _until_local(scene)
    same(scene.loads(), 2, "loads")
