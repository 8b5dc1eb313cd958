package planner

import (
	"encoding/json"
	"errors"
	"testing"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

// Where nothing can be kept, nothing is accepted: Temporal is not even asked. (The Service has no client; asking would panic.)
func TestNothingIsAcceptedWithoutRoom(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	s := &Service{Registry: toolsets.Registry(), Room: func() error { return full }}
	args := json.RawMessage(`{"path":"a.md"}`)
	_, call := s.Call(t.Context(), tool.Request{Tool: "document.read", Arguments: args}, "en")
	_, appended := s.Append(t.Context(), "r_1", []tool.Request{{Tool: "document.read", Arguments: args}}, "")
	for name, err := range map[string]error{"call": call, "start": s.Start(t.Context(), Input{RunID: "r_1"}), "append": appended} {
		if !errors.Is(err, ErrNoRoom) || !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
	}
	res, err := s.Call(t.Context(), tool.Request{Tool: "document.read", Arguments: json.RawMessage(`{}`)}, "en")
	if err != nil || res.Error.Code != tool.MissingFields {
		t.Errorf("a payload that is wrong needs no room to be told so: %+v, %v", res, err)
	}
}
