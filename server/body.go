package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	goahttp "goa.design/goa/v3/http"

	"toolsvc/executors/mcpclient"
	"toolsvc/tool"
)

// payloadBody is a body that was read already.
type payloadBody struct{ payload []byte }

func (payloadBody) Read([]byte) (int, error) { return 0, io.EOF }
func (payloadBody) Close() error             { return nil }

// bounded reads the body: at most tool.MaxPayload bytes, within the time limit for bodies. What decodes it gets it as it is, whatever its
// Content-Type says.
func (s *Server) bounded(next http.Handler) http.Handler {
	return s.checked(nil, next)
}

// checked is bounded for a body that must be what schema says: all of its violations are answered at once. nil takes any body.
func (s *Server) checked(schema *mcpclient.Schema, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, refused := s.readPayload(w, r)
		if refused != nil {
			refuseBody(w, r, refused)
			return
		}
		if schema != nil {
			if len(payload) == 0 {
				payload = []byte("{}")
			}
			if _, issues := schema.Decode(payload); len(issues) > 0 {
				writeProblem(w, invalidBody(r.Context(), issues))
				return
			}
		}
		r.Body = payloadBody{payload}
		next.ServeHTTP(w, r)
	})
}

// Bounds of what is read of a body that is refused already.
const (
	maxDrained = 8 << 20
	drainLimit = time.Second
)

// refuseBody answers before all of the body has come. A little of the rest is read and dropped: a connection that is closed while its client
// still sends is reset, and the client may never see the answer.
func refuseBody(w http.ResponseWriter, r *http.Request, refused *refusal) {
	control := http.NewResponseController(w)
	duplex := control.EnableFullDuplex() == nil
	w.Header().Set("Connection", "close")
	writeProblem(w, refused)
	if !duplex || control.Flush() != nil || control.SetReadDeadline(time.Now().Add(drainLimit)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDrained) // however far it gets
}

func (s *Server) readPayload(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	ctx := r.Context()
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, refuse(ctx, kindEncodedBody, fmt.Sprintf("A payload must come unencoded, not as %q. Nothing was called.", clip(e)))
	}
	if r.ContentLength > tool.MaxPayload {
		return nil, tooLarge(ctx, r.ContentLength)
	}
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(s.bodyTimeout)); err != nil {
		s.log.WarnContext(ctx, "the time for a body cannot be bounded", "request_id", requestID(ctx), "error", err)
	}
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, tool.MaxPayload))
	var over *http.MaxBytesError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(ctx, -1)
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, refuse(ctx, kindBodyTimeout, fmt.Sprintf("The payload did not come within %s. Nothing was called.", s.bodyTimeout))
	case err != nil:
		return nil, refuse(ctx, kindBrokenBody, "The payload broke off before its end. Nothing was called.")
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil { // or the wait for the result would count too
		s.log.WarnContext(ctx, "the time limit of a body cannot be lifted", "request_id", requestID(ctx), "error", err)
	}
	return payload, nil
}

// requestDecoder hands a payload over as it came; only a body that was checked is decoded here.
func requestDecoder(r *http.Request) goahttp.Decoder {
	return goahttp.EncodingFunc(func(v any) error {
		body, ok := r.Body.(payloadBody)
		if !ok {
			return fmt.Errorf("a body of %T cannot be decoded into %T", r.Body, v)
		}
		if raw, ok := v.(*json.RawMessage); ok {
			*raw = body.payload
			return nil
		}
		return json.Unmarshal(body.payload, v)
	})
}

// bodySchema is the schema of a body in the description that is served, made closed: an unknown field is a mistake of the caller's.
func bodySchema(description object, name string) (*mcpclient.Schema, error) {
	components, _ := dig(description, "components", "schemas").(object)
	if components[name] == nil {
		return nil, fmt.Errorf("the description has no schema %s", name)
	}
	defs := object{}
	var take func(name string)
	var walk func(v any) any
	walk = func(v any) any {
		switch x := v.(type) {
		case object:
			c := object{}
			for k, e := range x {
				if ref, ok := e.(string); ok && k == "$ref" {
					def := strings.TrimPrefix(ref, schemaRef(""))
					take(def)
					c[k] = "#/$defs/" + def
					continue
				}
				c[k] = walk(e)
			}
			if _, ok := c["properties"].(object); ok && c["type"] == "object" {
				c["additionalProperties"] = false
			}
			return c
		case []any:
			c := make([]any, len(x))
			for i, e := range x {
				c[i] = walk(e)
			}
			return c
		}
		return v
	}
	take = func(name string) {
		if defs[name] == nil {
			defs[name] = true // so that what refers to itself comes to an end
			defs[name] = walk(components[name])
		}
	}
	root, ok := walk(components[name]).(object)
	if !ok {
		return nil, fmt.Errorf("the schema %s is no object", name)
	}
	if len(defs) > 0 {
		root["$defs"] = defs
	}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	return mcpclient.NewSchema(text, "body")
}
