"""Does Spillway keep its promises between real clients and real engines? The stage's command line."""

import argparse
import contextlib
import os
import pathlib
import signal
import sys
import tempfile

import llama_checks
import llama_to_sie
import shim_llama
import shim_router
import shim_sie
import sie_checks
import sie_to_openai
import sie_to_sie
from parts import Process
from report import Report, expect

SCENES = {
    "sie": sie_checks,
    "llama": llama_checks,
    "sie-to-sie": sie_to_sie,
    "sie-to-openai": sie_to_openai,
    "llama-to-sie": llama_to_sie,
    "shim-llama": shim_llama,
    "shim-router": shim_router,
    "shim-sie": shim_sie,
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=pathlib.Path, help="the spillway binary under test; spillway-shim lies beside it")
    parser.add_argument("--parts", type=pathlib.Path, required=True, help="where setup.sh put the parts")
    parser.add_argument("--only", choices=SCENES, help="play one scene only")
    parser.add_argument("--keep", action="store_true", help="keep the logs and configurations of this run")
    return parser.parse_args()


def play(module, report, parts, folder, binary):
    """Stand up one scene, run its checks in order, take it down."""
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(Process.stop_all)
        scene = module.Scene(parts, folder, binary)
        cleanup.callback(scene.close)
        failed_before = report.failed
        report.check("engines and sidecar are up", scene.until_ready, seconds=240)
        if report.failed == failed_before:
            for what, prove in module.checks(scene):
                report.check(what, prove, scene)
            report.check("the sidecar has not ended", sidecar_lives, scene)
        if report.failed > failed_before:
            print(f"--- end of {scene.spillway.log.name}\n{scene.spillway.tail()}\n---")


def sidecar_lives(scene):
    expect(scene.spillway.alive(), "it ended during the checks")


def main():
    chosen = arguments()
    # A stage that is told to stop still takes its processes with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="spillway-parts-", delete=not chosen.keep) as folder:
        if chosen.keep:
            print(f"logs: {folder}")
        for name, module in SCENES.items():
            if chosen.only in (None, name):
                print(f"{name}:", flush=True)
                scene_folder = pathlib.Path(folder) / name
                scene_folder.mkdir()
                play(module, report, chosen.parts.resolve(), scene_folder, chosen.binary.resolve())
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
