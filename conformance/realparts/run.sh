#!/usr/bin/env bash
# The real-parts stage: Spillway between real clients (sie-sdk, the OpenAI client, the Cohere client) and real engines
# (sie-server, llama-server). Installs the parts, then proves the promises of check.py.
#
#   run.sh [SPILLWAY]     SPILLWAY is the binary to test, with spillway-shim beside it; default: the newest in target/{dist,release,debug},
#                         else both are built
#
# Exit 0: every check passed. Exit 1: a check failed, or a part could not be installed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}

binary=${1:-}
if [ -z "$binary" ]; then
  binary=$(ls -t "$target"/{dist,release,debug}/spillway 2>/dev/null | head -n 1 || true)
fi
if [ -z "$binary" ]; then
  # shellcheck source=.ci/cmake.sh
  . "$root/.ci/cmake.sh"
  (cd "$root" && cargo build -p spillway -p spillway-shim)
  binary=$target/debug/spillway
fi
for each in "$binary" "$(dirname "$binary")/spillway-shim"; do
  if [ ! -x "$each" ]; then echo "no such binary: $each (cargo build -p spillway -p spillway-shim)" >&2; exit 1; fi
done

bash "$here/setup.sh"
parts=${SPILLWAY_PARTS:-${XDG_CACHE_HOME:-$HOME/.cache}/spillway/parts}
# The folder stays as it was checked out.
export PYTHONDONTWRITEBYTECODE=1
exec "$parts/python/bin/python" "$here/check.py" --parts "$parts" "$(realpath "$binary")"
