#!/usr/bin/env bash
# Known vulnerabilities in the code that is called: of ./..., or of the packages that are named. The database is on the network: where it
# cannot be reached, that is said in the last line, on standard error, and the exit status is 0, because it is no finding; with
# VULN_REQUIRED=1 it is 1. A finding is 3.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/offline.sh
db=${GOVULNDB:-https://vuln.go.dev}

unreachable() {
	echo "NOT CHECKED for known vulnerabilities: the database ($db) cannot be reached from here ($1). Run make vuln where it can, or set GOVULNDB to a mirror or a copy (file:///...)." >&2
	exit "${VULN_REQUIRED:-0}"
}

# Asked first, because govulncheck asks only after it has loaded all packages, which takes minutes.
if [[ $db == http* ]] && command -v curl >/dev/null; then
	why=$(curl -fsSL --max-time 20 -o /dev/null "$db/index/db.json" 2>&1) || unreachable "$why"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
"${GO:-go}" tool -modfile=tools/lint/go.mod govulncheck "${@:-./...}" >"$log" 2>&1 || status=$?
cat "$log"
if [ "$status" -ne 0 ] && [ "$status" -ne 3 ] && offline "$log"; then
	unreachable "see above"
fi
exit "$status"
