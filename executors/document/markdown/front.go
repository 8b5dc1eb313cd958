package markdown

import (
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// FrontMatter is the data at the beginning of a text, between two lines of --- (YAML) or +++ (TOML).
type FrontMatter struct {
	// End is behind the closing line.
	End int
	// Keys are the keys of the top level, in order; of YAML only.
	Keys []string
	// Values are the decoded data; nil when they could not be decoded, or are TOML.
	Values map[string]any
	// Err says why there are no values.
	Err error
}

// maxFrontMatter bounds what is decoded, in bytes, against expanding aliases and the like.
const maxFrontMatter = 64 << 10

// frontMatter finds the front matter; nil when there is none. A text that begins with a rule and has no second one has none.
func frontMatter(src string) *FrontMatter {
	fence, rest, ok := strings.Cut(src, "\n")
	fence = strings.TrimRight(fence, " \t")
	if !ok || fence != "---" && fence != "+++" {
		return nil
	}
	for at := len(src) - len(rest); at < len(src); {
		line, _, more := strings.Cut(src[at:], "\n")
		next := at + len(line)
		if more {
			next++
		}
		if l := strings.TrimRight(line, " \t"); l == fence || fence == "---" && l == "..." {
			f := &FrontMatter{End: next}
			if fence == "+++" {
				f.Err = fmt.Errorf("the front matter is TOML, which is not decoded")
				return f
			}
			f.decode(src[len(src)-len(rest) : at])
			return f
		}
		at = next
	}
	return nil
}

func (f *FrontMatter) decode(text string) {
	if len(text) > maxFrontMatter {
		f.Err = fmt.Errorf("the front matter has %d bytes, more than the %d that are decoded", len(text), maxFrontMatter)
		return
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		f.Err = fmt.Errorf("the front matter is not valid YAML: %w", err)
		return
	}
	f.Values = map[string]any{}
	if len(node.Content) == 0 { // empty
		return
	}
	if node.Content[0].Kind != yaml.MappingNode {
		f.Values, f.Err = nil, fmt.Errorf("the front matter is not a mapping of keys to values")
		return
	}
	var values map[string]any
	if err := node.Decode(&values); err != nil {
		f.Values, f.Err = nil, fmt.Errorf("the front matter cannot be decoded: %w", err)
		return
	}
	for i := 0; i+1 < len(node.Content[0].Content); i += 2 {
		f.Keys = append(f.Keys, node.Content[0].Content[i].Value)
	}
	for k, v := range values {
		f.Values[k] = plainValue(v)
	}
}

// plainValue turns what YAML has and JSON has not (times, keys that are no text) into text.
func plainValue(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, y := range x {
			x[k] = plainValue(y)
		}
		return x
	case map[any]any:
		m := make(map[string]any, len(x))
		for k, y := range x {
			m[fmt.Sprint(k)] = plainValue(y)
		}
		return m
	case []any:
		for i, y := range x {
			x[i] = plainValue(y)
		}
		return x
	case nil, bool, string, int, int64, uint64, float64:
		return v
	case time.Time:
		if x.Equal(x.Truncate(24 * time.Hour)) {
			return x.Format(time.DateOnly)
		}
		return x.Format(time.RFC3339)
	}
	return fmt.Sprint(v)
}
