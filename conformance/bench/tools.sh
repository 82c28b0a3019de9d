#!/usr/bin/env bash
# What the benchmark measures against and with: nginx, valgrind, strace. As root on a machine with apt, what is missing
# is installed; elsewhere it is named, and its columns or rows print "-". Meant to be sourced; sets nginx, valgrind and
# strace to a path, or to nothing.

# find_tool NAME: its path, also where a user's PATH does not lead.
find_tool() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" || true; }

bring_tools() {
  local missing=() tool
  for tool in "$@"; do
    if [ -z "$(find_tool "$tool")" ]; then missing+=("$tool"); fi
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "bench: installing ${missing[*]}" >&2
    # Debian starts a web server as it is installed; this one is started by the benchmark, on its own port.
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
    apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
      { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null 2>&1; } ||
      echo "bench: could not install ${missing[*]}" >&2
  fi
  for tool in "${missing[@]}"; do
    if [ -z "$(find_tool "$tool")" ]; then echo "bench: no $tool here; what needs it prints -" >&2; fi
  done
}

bring_tools nginx valgrind strace
nginx=$(find_tool nginx)
valgrind=$(find_tool valgrind)
strace=$(find_tool strace)
