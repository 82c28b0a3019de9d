"""The shim around a real sie-server, Spillway in front: does everything pass, does a crash heal, and is the end in order?"""

import os
import signal

import clients
from parts import Shim, SieServer, Spillway, free_port, wait_until
from report import expect, same

WRITER = "parts/writer"
CONFIGURATION = """
[engine]
preset = "sie"
base_url = "{local}"
shim = "{shim}"
"""


class Scene:
    """sie-server under its shim, another one alone, and Spillway."""

    def __init__(self, parts, folder, binary):
        self.alone = SieServer("sie-alone", parts, folder, [WRITER])
        port = free_port()
        self.local = f"http://127.0.0.1:{port}"
        command, environment = SieServer.start(parts, folder, "sie-wrapped", port, [WRITER], preload=[WRITER])
        flags = ["--preset", "sie"]
        self.shim = Shim("shim-sie", binary, folder, self.local, command, flags, environment)
        written = CONFIGURATION.format(local=self.local, shim=self.shim.address)
        self.spillway = Spillway("spillway-shim-sie", binary, folder, written)

    def until_ready(self):
        self.spillway.until_ready()

    def close(self):
        """Nothing is held."""


def checks(scene):
    """What to prove, in order of the engine's life."""
    return [
        ("a starting sie-server is refused with PROVISIONING in the native shape", starting),
        ("ready: sie-sdk and the OpenAI client are served by it", served),
        ("kill -9: the shim starts it again, and it serves", killed),
        ("SIGTERM: it ends as it does by itself, and its code is the shim's", ended),
    ]


def starting(scene):
    wait_until(lambda: scene.shim.state() == "starting", 30, "the shim to say starting")
    refused = clients.raw(scene.spillway.url, "/v1/generate/parts__writer", {"prompt": "x", "max_new_tokens": 4})
    same((refused.status_code, refused.headers.get("retry-after")), (503, "5"), "status and Retry-After")
    same(refused.json()["detail"]["code"], "PROVISIONING", "code")


def served(scene):
    scene.shim.until("ready", 120)
    wait_until(lambda: _writes(scene), 60, "an answer")
    client, heads = clients.sie(scene.spillway.url)
    expect(client.generate(WRITER, "The sluice", max_new_tokens=4)["text"], "the answer is empty")
    clients.disclosed(heads, "local")
    client, heads = clients.openai_at(scene.spillway.url)
    answer = client.completions.create(model=WRITER, prompt="The sluice", max_tokens=4)
    expect(answer.choices[0].text, "the answer is empty")
    clients.disclosed(heads, "local")


def _writes(scene):
    body = {"prompt": "The sluice opens", "max_new_tokens": 4}
    return clients.raw(scene.spillway.url, "/v1/generate/parts__writer", body).status_code == 200


def killed(scene):
    before = scene.shim.engine()
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: scene.shim.told()["restarts"] == 1, 30, "the restart")
    scene.shim.until("ready", 120)
    wait_until(lambda: _writes(scene), 60, "an answer")
    expect(scene.shim.engine() != before, "it is the same process")


def ended(scene):
    scene.alone.until_ready()
    ends = []
    for process in (scene.alone, scene.shim):
        os.kill(process.pid, signal.SIGTERM)
        ends.append((process.exit_code(60), process.text().count("Finished server process")))
    same(ends[1], ends[0], "exit code and its own words at an orderly end, under the shim and alone")
    same(ends[0][1], 1, "orderly ends")
