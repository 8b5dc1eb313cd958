package temporalclient

import (
	"net/url"
	"strings"
)

// RunURL is the address of a workflow in Temporal's web UI. uiBase is the UI's own address (http://127.0.0.1:8233,
// https://cloud.temporal.io), with or without a slash at its end. Without a run id the UI shows the latest run. An empty uiBase or
// workflow id gives "", so that a missing UI becomes a missing link.
func RunURL(uiBase, namespace, workflowID, runID string) string {
	if uiBase == "" || workflowID == "" {
		return ""
	}
	if namespace == "" {
		namespace = DefaultNamespace
	}
	link := strings.TrimRight(uiBase, "/") + "/namespaces/" + url.PathEscape(namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		link += "/" + url.PathEscape(runID) + "/history"
	}
	return link
}
