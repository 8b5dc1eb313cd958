#!/usr/bin/env bash
# Installs the MCP clients and servers that toolsvc is tried with (test/mcp/package-lock.json pins them), where they are not there already.
# Where npm's registry cannot be reached at all, it says so and succeeds: the tests that need them are then skipped, with the same words.
set -euo pipefail
cd "$(dirname "$0")/../test/mcp"

stamp=node_modules/.installed
if [ -e "$stamp" ] && cmp -s package-lock.json "$stamp"; then
	exit 0
fi
if ! command -v npm >/dev/null; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "Installing Node.js and npm ..."
		apt-get install -y -q nodejs npm >/dev/null || { apt-get update -q >/dev/null && apt-get install -y -q nodejs npm >/dev/null; } || {
			echo "npm cannot be installed here: the tests with real MCP clients and servers are skipped."
			exit 0
		}
	else
		echo "npm is missing: install Node.js 20 or newer with npm." >&2
		exit 1
	fi
fi
if ! timeout 60 npm view node@22.23.3 version >/dev/null 2>&1; then
	echo "npm's registry cannot be reached: the tests with real MCP clients and servers are skipped."
	exit 0
fi
echo "Installing the MCP clients and servers of test/mcp (some 500 MB) ..."
# Browsers are never downloaded: the tests use the machine's Chromium.
PUPPETEER_SKIP_DOWNLOAD=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --loglevel=error
cp package-lock.json "$stamp"
