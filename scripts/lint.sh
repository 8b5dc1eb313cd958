#!/usr/bin/env bash
# What make lint finds: staticcheck (staticcheck.conf), and errors that are dropped without a word (errcheck) outside of tests and of
# generated code. A finding is excused in its place and with its reason: `//lint:ignore CHECK why` for staticcheck; for errcheck, which knows
# no comments of its own, `//nolint:errcheck // why` at the end of the line.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/offline.sh
tool() { "${GO:-go}" tool -modfile=tools/lint/go.mod "$@"; }

# The linters have modules of their own. Where those cannot be fetched, that is said, and is no finding; with LINT_REQUIRED=1 it is a failure.
if ! why=$("${GO:-go}" build -modfile=tools/lint/go.mod -o /dev/null honnef.co/go/tools/cmd/staticcheck 2>&1); then
	echo "$why" >&2
	if ! offline <(echo "$why"); then
		exit 1
	fi
	echo "NOT CHECKED by the linters: they cannot be fetched here (see above)." >&2
	exit "${LINT_REQUIRED:-0}"
fi

failed=0
tool staticcheck ./... || failed=1

status=0
dropped=$(tool errcheck -exclude tools/lint/errcheck.txt -ignoretests -ignoregenerated ./... 2>&1) || status=$?
if [ "$status" -gt 1 ]; then # it could not look
	echo "$dropped" >&2
	exit "$status"
fi
while IFS= read -r finding; do
	case $finding in
	'' | *'//nolint:errcheck // '*) ;; # errcheck shows the line
	*)
		echo "$finding: the error is dropped (errcheck)"
		failed=1
		;;
	esac
done <<<"$dropped"
exit "$failed"
