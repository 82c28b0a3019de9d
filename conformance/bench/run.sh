#!/usr/bin/env bash
# What the sidecar costs beside an engine, next to nginx and stock pingora, in one run on this machine.
#
#   run.sh                  build what is shipped (profile dist), measure everything, print the table; some minutes
#   run.sh --quick          few and short rounds on the plain release build: under a minute, rough times, exact counts
#   run.sh --json FILE      where the figures go as JSON; default: bench.json in the target folder
#   run.sh --gate           exit 1 when a target is missed that does not depend on the machine's mood
#   SPILLWAY_BENCH_BUILD=0  measure the binaries of the last build
#
# A program that is not installed is not measured and prints "-". Run it on a quiet machine: the first lines of the
# table say how busy it was.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
profile=dist
case " $* " in *" --quick "*) profile=release ;; esac
built=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")/$profile

case " $* " in *" --help "* | *" -h "*) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;; esac

# shellcheck source=conformance/bench/tools.sh
. "$here/tools.sh"
if [ "${SPILLWAY_BENCH_BUILD:-1}" != 0 ]; then
  # shellcheck source=.ci/cmake.sh
  . "$root/.ci/cmake.sh"
  (cd "$root" && cargo build --profile "$profile" -p spillway -p spillway-shim -p spillway-conformance --bin spillway --bin spillway-shim --bin bench --example stock)
fi

# A thousand streams are two thousand sockets here and as many in the peer.
ulimit -n 16384 2>/dev/null || ulimit -n "$(ulimit -Hn)"

peers=()
add() { if [ -n "$2" ] && [ -x "$2" ]; then peers+=("$1" "$2"); fi; }
add --spillway "$built/spillway"
add --shim "$built/spillway-shim"
add --stock "$built/examples/stock"
add --nginx "$nginx"
add --valgrind "$valgrind"
add --strace "$strace"
add --taskset "$(command -v taskset || true)"
case " $* " in *" --json "*) ;; *) set -- "$@" --json "$(dirname "$built")/bench.json" ;; esac
exec "$built/bench" "${peers[@]}" "$@"
