# Read by Debian's start script of Chromium (/etc/chromium.d).
if ! unshare --user true 2>/dev/null; then
  CHROMIUM_FLAGS="$CHROMIUM_FLAGS --no-sandbox"
fi
