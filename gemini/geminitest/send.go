package geminitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// send answers a request with a reply.
func (s *Server) send(w http.ResponseWriter, hr *http.Request, r *Request, reply Reply) {
	if reply.Wait != nil {
		select {
		case <-reply.Wait:
		case <-s.closed:
			panic(http.ErrAbortHandler)
		case <-hr.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	for k, vs := range reply.Header {
		w.Header()[http.CanonicalHeaderKey(k)] = vs
	}
	switch {
	case reply.DropConnection:
		panic(http.ErrAbortHandler)
	case reply.Status != 0:
		s.refuse(w, r, reply.refusal(r.Model), false)
	case reply.RawBody != nil:
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		_, _ = w.Write(cut(reply, reply.RawBody))
		abort(w, reply)
	case r.Operation == "streamGenerateContent":
		s.stream(w, hr, r, reply)
	default:
		b, err := json.MarshalIndent(s.response(r, reply), "", "  ")
		if err != nil {
			s.complain("the reply to request %d cannot be written: %v", r.N, err)
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		if reply.CutAfter > 0 {
			w.Header().Set("Content-Length", fmt.Sprint(len(b))) // so that the client can tell that some of it is missing
		}
		_, _ = w.Write(cut(reply, b))
		abort(w, reply)
	}
}

func cut(reply Reply, b []byte) []byte {
	if reply.CutAfter > 0 {
		return b[:min(len(b), reply.CutAfter)]
	}
	return b
}

// abort closes the connection of a reply that is cut, once the client has what it is to have.
func abort(w http.ResponseWriter, reply Reply) {
	if reply.CutAfter > 0 {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// response renders a reply as the service does.
func (s *Server) response(r *Request, reply Reply) wireResponse {
	out := wireResponse{ModelVersion: r.Model, ResponseID: fmt.Sprintf("geminitest-%d", r.N)}
	written := 0
	switch {
	case reply.BlockReason != "":
		out.PromptFeedback = &wireFeedback{BlockReason: reply.BlockReason, SafetyRatings: ratings(true)}
	case !reply.NoCandidates:
		c := wireCandidate{FinishReason: reply.Finish, FinishMessage: reply.FinishMessage}
		switch c.FinishReason {
		case "":
			c.FinishReason = "STOP"
		case "-":
			c.FinishReason = ""
		case "SAFETY":
			c.SafetyRatings = ratings(true)
		}
		if len(reply.Parts) > 0 {
			c.Content = &wireContent{Role: "model", Parts: s.parts(r, reply)}
			for _, p := range c.Content.Parts {
				if p.Text != nil {
					written += tokensOf(len(*p.Text))
				}
				if p.FunctionCall != nil {
					written += tokensOf(len(p.FunctionCall.Name) + len(p.FunctionCall.Args))
				}
			}
		}
		out.Candidates = []wireCandidate{c}
	}
	u := wireUsage{PromptTokenCount: promptTokens(r), CandidatesTokenCount: written, ThoughtsTokenCount: reply.ThoughtTokens}
	if reply.PromptTokens > 0 {
		u.PromptTokenCount = reply.PromptTokens
	}
	if reply.OutputTokens > 0 {
		u.CandidatesTokenCount = reply.OutputTokens
	}
	u.TotalTokenCount = u.PromptTokenCount + u.CandidatesTokenCount + u.ThoughtsTokenCount
	out.UsageMetadata = u
	return out
}

// parts renders the parts of a reply, and gives function calls their ids and signatures.
func (s *Server) parts(r *Request, reply Reply) []wirePart {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []wirePart
	first := true
	for _, p := range reply.Parts {
		w := wirePart{Thought: p.Thought, ThoughtSignature: p.Signature}
		if p.Call == nil {
			text := p.Text
			w.Text = &text
		} else {
			c := wireCall{ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args}
			if c.ID == autoID {
				s.ids++
				c.ID = fmt.Sprintf("call-%d", s.ids)
			}
			if first && w.ThoughtSignature == nil && !reply.Unsigned {
				w.ThoughtSignature = sign(r.N, c.Name)
			}
			first, w.FunctionCall = false, &c
		}
		if w.ThoughtSignature != nil {
			s.issued[string(w.ThoughtSignature)] = true
		}
		out = append(out, w)
	}
	return out
}

func ratings(blocked bool) []wireRating {
	return []wireRating{{Category: "HARM_CATEGORY_DANGEROUS_CONTENT", Probability: "HIGH", Blocked: blocked}}
}

// stream sends a reply in pieces: text in two halves, each function call by itself, usage and finish reason with the last.
func (s *Server) stream(w http.ResponseWriter, hr *http.Request, r *Request, reply Reply) {
	whole := s.response(r, reply)
	events := split(whole)
	sse := hr.URL.Query().Get("alt") == "sse"
	if sse {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	}
	for i, e := range events {
		if reply.CutAfter > 0 && i == reply.CutAfter {
			panic(http.ErrAbortHandler)
		}
		b, err := json.Marshal(e)
		if err != nil {
			s.complain("the reply to request %d cannot be written: %v", r.N, err)
			panic(http.ErrAbortHandler)
		}
		var line []byte
		if sse {
			line = bytes.Join([][]byte{[]byte("data: "), b, []byte("\r\n\r\n")}, nil)
		} else {
			before, after := ",\r\n", ""
			if i == 0 {
				before = "["
			}
			if i == len(events)-1 {
				after = "\n]"
			}
			line = []byte(before + string(b) + after)
		}
		if _, err := w.Write(line); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// split divides a response into the events of a stream.
func split(whole wireResponse) []wireResponse {
	if len(whole.Candidates) == 0 || whole.Candidates[0].Content == nil {
		return []wireResponse{whole}
	}
	var pieces []wirePart
	for _, p := range whole.Candidates[0].Content.Parts {
		if p.Text == nil || len(*p.Text) < 2 {
			pieces = append(pieces, p)
			continue
		}
		at := len(*p.Text) / 2
		for at > 0 && !utf8.RuneStart((*p.Text)[at]) {
			at--
		}
		a, b := (*p.Text)[:at], (*p.Text)[at:]
		first, second := p, p
		first.Text, first.ThoughtSignature, second.Text = &a, nil, &b
		pieces = append(pieces, first, second)
	}
	var out []wireResponse
	for i, p := range pieces {
		e := whole
		c := wireCandidate{Content: &wireContent{Role: "model", Parts: []wirePart{p}}}
		if i == len(pieces)-1 {
			last := whole.Candidates[0]
			last.Content = c.Content
			c = last
		}
		e.Candidates = []wireCandidate{c}
		out = append(out, e)
	}
	return out
}
