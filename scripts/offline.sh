# For scripts that fetch: offline FILE reports whether the messages in a file are those of a network that cannot be reached.
offline() {
	grep -qE 'no such host|connection refused|i/o timeout|network is unreachable|TLS handshake|Forbidden|lookup disabled|Client.Timeout' "$1"
}
