package chromium

import (
	"fmt"
	"os"
	"path/filepath"
)

// Flags chosen for this executor. The first block is what every automation uses: a clean profile, no dialogs of the browser's own, no
// throttling of what is in the background. The second keeps the browser from talking to anyone but the pages it opens. The third makes
// frames come as soon as they are ready instead of at 60 Hz, which is what a click, a screenshot and an accessibility query wait for.
var flags = []string{
	"--headless=new",
	"--no-first-run",
	"--no-default-browser-check",
	"--disable-popup-blocking",
	"--disable-prompt-on-repost",
	"--disable-hang-monitor",
	"--disable-ipc-flooding-protection",
	"--disable-renderer-backgrounding",
	"--disable-background-timer-throttling",
	"--disable-backgrounding-occluded-windows",
	"--disable-dev-shm-usage",
	"--disable-extensions",
	"--disable-infobars",
	"--hide-scrollbars",
	"--mute-audio",
	"--password-store=basic",
	"--use-mock-keychain",
	"--force-color-profile=srgb",
	"--export-tagged-pdf",

	"--disable-background-networking",
	"--disable-breakpad",
	"--disable-client-side-phishing-detection",
	"--disable-component-extensions-with-background-pages",
	"--disable-component-update",
	"--disable-default-apps",
	"--disable-domain-reliability",
	"--disable-field-trial-config",
	"--disable-quic",
	"--disable-sync",
	"--metrics-recording-only",
	"--no-pings",
	"--no-service-autorun",
	"--safebrowsing-disable-auto-update",
	"--gaia-url=https://127.0.0.1:1/",                    // it asks for signed-in accounts otherwise
	"--component-updater=url-source=http://127.0.0.1:1/", // it asks for updates of components and extensions otherwise
	"--extensions-update-frequency=1000000",
	"--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,CertificateTransparencyComponentUpdater," +
		"AutofillServerCommunication,InterestFeedContentSuggestions,NetworkTimeServiceQuerying,PaintHolding,AccountConsistency,BackForwardCache",
}

// arguments of a browser with this profile directory.
func arguments(o Options, profile string) []string {
	args := append([]string{}, flags...)
	args = append(args,
		"--remote-debugging-port=0", // on 127.0.0.1, chosen by the system, written to DevToolsActivePort
		"--user-data-dir="+profile,
		fmt.Sprintf("--window-size=%d,%d", o.Width, o.Height),
	)
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium refuses to start as root otherwise
	}
	if o.UncappedFrames {
		args = append(args, "--disable-frame-rate-limit", "--disable-gpu-vsync")
	}
	if o.SitePerProcess {
		args = append(args, "--site-per-process")
	}
	args = append(args, o.ExtraFlags...)
	return append(args, "about:blank")
}

// portFile is where the browser writes its port and the path of its endpoint.
func portFile(profile string) string { return filepath.Join(profile, "DevToolsActivePort") }
