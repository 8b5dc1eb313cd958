package chromium

import (
	"errors"
	"fmt"
	"os/exec"
)

// ErrMissing: there is no Chromium on this machine.
var ErrMissing = errors.New("no Chromium was found")

// Install says how to get Chromium.
const Install = "install it (Debian and Ubuntu: apt-get install chromium; Fedora: dnf install chromium; macOS: brew install --cask chromium), or give its path"

// names are the programs that are looked for on the PATH, in this order.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell"}

// Find returns the path of the browser: the given one, or the first known one on the PATH. The error wraps [ErrMissing] and says how
// to install it.
func Find(given string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("%w at %s: %s", ErrMissing, given, Install)
		}
		return path, nil
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w on the PATH: %s", ErrMissing, Install)
}
