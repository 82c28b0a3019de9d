#!/usr/bin/env bash
# pingora's zlib is built with cmake. Where cmake is missing, bring it: Debian's package as root, else the PyPI wheel into the
# user's cache. Meant to be sourced; afterwards `cmake` is on PATH or the shell has stopped with a reason.
if ! command -v make >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "make is missing (zlib and the allocator need it to build): installing Debian's package" >&2
    { apt-get install -y -q make >/dev/null 2>&1 || { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q make >/dev/null 2>&1; }; } || true
  fi
  command -v make >/dev/null 2>&1 || { echo "make is missing (zlib and the allocator need it to build): install it and run this again" >&2; exit 1; }
fi
if ! command -v cmake >/dev/null 2>&1; then
  tools=${XDG_CACHE_HOME:-$HOME/.cache}/spillway/cmake
  if [ ! -x "$tools/bin/cmake" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
      echo "cmake is missing (zlib needs it to build): installing Debian's package" >&2
      { apt-get install -y -q cmake >/dev/null 2>&1 || { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q cmake >/dev/null 2>&1; }; } || true
    fi
    if ! command -v cmake >/dev/null 2>&1; then
      echo "cmake is missing (zlib needs it to build): fetching the cmake wheel into $tools" >&2
      { python3 -m venv "$tools" && "$tools/bin/pip" install -q cmake; } >&2 ||
        { echo "could not bring cmake; install it (https://cmake.org) and run this again" >&2; exit 1; }
    fi
  fi
  if ! command -v cmake >/dev/null 2>&1; then export PATH="$tools/bin:$PATH"; fi
fi
