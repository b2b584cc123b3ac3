#!/usr/bin/env bash
# Runs pmu-probe against a real chip that has our firmware on it, prints a table, and puts all of it into one JSON file for an
# issue: docs/hardware.md. Nothing is flashed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v python3 >/dev/null; then
    echo "accept.sh: it takes python3, which is not installed" >&2
    exit 2
fi
exec python3 "$here/accept.py" "$@"
