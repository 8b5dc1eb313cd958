#!/usr/bin/env bash
# Installs what toolsvc needs beside Go: Chromium, and tesseract for reading pictures; with the argument "test" also what only tests and
# `make topology` need: a PostgreSQL server, which they run in folders of their own. Does nothing where all is there.
set -euo pipefail

missing=()
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
command -v tesseract >/dev/null || missing+=(tesseract-ocr tesseract-ocr-eng)
[ -n "$(fc-list 2>/dev/null | grep -i cjk)" ] || missing+=(fonts-noto-cjk fontconfig)
if [ "${1:-}" = test ]; then
  compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null || missing+=(postgresql)
fi
[ "${#missing[@]}" -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "Please install by your system's means: ${missing[*]} (this script knows only apt-get)." >&2
  exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Please run as root, or install: ${missing[*]}" >&2
    exit 1
  fi
  sudo=(sudo)
fi
echo "Installing ${missing[*]} …" >&2
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
