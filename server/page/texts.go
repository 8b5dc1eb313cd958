package page

import (
	"embed"
	"encoding/json"
	"fmt"

	"toolsvc/narration"
	"toolsvc/tool"
)

//go:embed texts
var textFiles embed.FS

// texts are the page's own texts in a language, and those that it shares with the narration, so that both use the same words.
func texts(l narration.Lang) (map[string]string, error) {
	data, err := textFiles.ReadFile("texts/" + string(l) + ".json")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read texts/%s.json: %w", l, err)
	}
	for _, s := range narration.Stages {
		all["stage."+string(s)] = s.Label(string(l))
	}
	for _, f := range tool.Failures {
		all["failure."+string(f)] = narration.FailureText(f, string(l))
	}
	for _, s := range tool.Sources {
		all["source."+string(s)] = narration.SourceText(s, string(l))
		all["badge."+string(s)] = s.Badge()
	}
	return all, nil
}

// textsModule is the module that the page imports its texts from.
func textsModule() ([]byte, error) {
	all := map[narration.Lang]map[string]string{}
	for _, l := range narration.Langs {
		t, err := texts(l)
		if err != nil {
			return nil, err
		}
		all[l] = t
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("export const texts = "), data...), ";\n"...), nil
}
