package geminitest

import (
	"slices"
	"strings"
)

// A Matcher says whether a turn answers a request.
type Matcher = func(*Request) bool

// All accepts what every one of ms accepts.
func All(ms ...Matcher) Matcher {
	return func(r *Request) bool {
		return !slices.ContainsFunc(ms, func(m Matcher) bool { return !m(r) })
	}
}

// Not accepts what m does not.
func Not(m Matcher) Matcher { return func(r *Request) bool { return !m(r) } }

// Declares accepts requests that declare the function.
func Declares(function string) Matcher {
	return func(r *Request) bool { return r.Function(function) != nil }
}

// Answers accepts requests whose last message answers a call of the function.
func Answers(function string) Matcher {
	return func(r *Request) bool {
		return slices.ContainsFunc(r.Responses(), func(f FunctionResponse) bool { return f.Name == function })
	}
}

// Says accepts requests with this text in the conversation: in its text or in a function response.
func Says(text string) Matcher {
	return func(r *Request) bool {
		if strings.Contains(r.Text(), text) {
			return true
		}
		for _, c := range r.Contents {
			for _, p := range c.Parts {
				if p.Response != nil && strings.Contains(string(p.Response.Response), text) {
					return true
				}
			}
		}
		return false
	}
}

// Told accepts requests with this text in the system instruction.
func Told(text string) Matcher {
	return func(r *Request) bool { return strings.Contains(r.System, text) }
}

// WithImage accepts requests that show at least one picture.
func WithImage() Matcher { return func(r *Request) bool { return len(r.Images()) > 0 } }

// WantsField accepts requests whose response schema has this field at its top level.
func WantsField(name string) Matcher {
	return func(r *Request) bool { return slices.Contains(topFields(r.ResponseSchema), name) }
}
