package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"toolsvc/tool"
)

// MaxSchema bounds the schema of a backend's tool, in bytes.
const MaxSchema = 256 << 10

// Schema validates documents against a JSON Schema that is known only at run time, and reports what is wrong with them as the generated
// decoders do: all issues at once, with the same keywords, pointers and suggestions.
type Schema struct {
	compiled *jsonschema.Schema
	raw      any
	doc      tool.Document
}

// schemaURL is the name under which a schema is compiled; nothing is ever fetched.
const schemaURL = "mem:schema"

// NewSchema compiles a schema. noun is what its documents are called in messages: "payload" or "result". A schema that refers to
// another document is refused: nothing is loaded.
func NewSchema(text json.RawMessage, noun string) (*Schema, error) {
	if len(text) > MaxSchema {
		return nil, fmt.Errorf("the schema has %d bytes, more than the %d that are allowed", len(text), MaxSchema)
	}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	for _, name := range []tool.Format{tool.FormatDate, tool.FormatDateTime, tool.FormatUUID, tool.FormatEmail, tool.FormatHostname, tool.FormatIPv4, tool.FormatIPv6, tool.FormatURI} {
		c.RegisterFormat(&jsonschema.Format{Name: string(name), Validate: func(v any) error {
			if s, ok := v.(string); ok && !name.Valid(s) {
				return errors.New("not valid")
			}
			return nil
		}})
	}
	if err := c.AddResource(schemaURL, raw); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	s, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid: %w", err)
	}
	return &Schema{compiled: s, raw: raw, doc: tool.Document{Noun: noun, MaxBytes: tool.MaxPayload}}, nil
}

// noLoader loads nothing.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s lies outside of the schema, and nothing is loaded", url)
}

// Decode reads and validates a document. It returns the value as [tool.Decoder.Any] makes it, or all issues and nil.
func (s *Schema) Decode(text []byte) (any, tool.Issues) {
	v, issues := tool.Decode(text, &s.doc, func(d *tool.Decoder) *any {
		v := d.Any()
		return &v
	})
	if issues != nil { // broken, duplicate keys, too deep, too large
		return nil, issues
	}
	err := s.compiled.Validate(*v)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return *v, nil
	case !errors.As(err, &invalid):
		return nil, tool.Issues{{Constraint: "schema", Message: fmt.Sprintf("The %s cannot be checked: %s.", s.doc.Noun, err)}}
	}
	r := reporter{schema: s, doc: *v}
	r.walk(invalid)
	slices.SortStableFunc(r.issues, func(a, b tool.Issue) int { return strings.Compare(a.Path, b.Path) })
	return nil, slices.CompactFunc(r.issues, func(a, b tool.Issue) bool { return a.Path == b.Path && a.Constraint == b.Constraint })
}

// reporter turns an engine's errors into issues.
type reporter struct {
	schema *Schema
	doc    any
	issues tool.Issues
}

func (r *reporter) add(i tool.Issue) {
	if len(r.issues) < tool.MaxIssues {
		r.issues = append(r.issues, i)
	}
}

// walk reports the innermost errors, which say what is wrong; of alternatives the one that was most likely meant.
func (r *reporter) walk(e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		r.alternatives(e)
		return
	case *kind.PropertyNames:
		r.issue(e)
		return
	}
	if len(e.Causes) == 0 {
		r.issue(e)
		return
	}
	for _, c := range e.Causes {
		r.walk(c)
	}
}

// alternatives reports the causes of the one alternative whose type fits, or that several are allowed and none fits.
func (r *reporter) alternatives(e *jsonschema.ValidationError) {
	var fits []*jsonschema.ValidationError
	var names []string
	onlyRequired := len(e.Causes) > 0
	for _, c := range e.Causes {
		if !wrongType(c, e.InstanceLocation) {
			fits = append(fits, c)
		}
		miss := innermost(c)
		req, ok := miss.ErrorKind.(*kind.Required)
		if onlyRequired = onlyRequired && ok && slices.Equal(miss.InstanceLocation, e.InstanceLocation); onlyRequired {
			names = append(names, req.Missing...)
		}
	}
	switch {
	case onlyRequired:
		slices.Sort(names)
		names = slices.Compact(names)
		r.add(tool.Issue{Path: pointer(e.InstanceLocation), Constraint: "anyOf", Allowed: names,
			Message: fmt.Sprintf("%s needs at least one of %s.", r.subject(e.InstanceLocation), strings.Join(names, ", "))})
	case len(fits) == 1:
		r.walk(fits[0])
	default:
		constraint := "anyOf"
		if _, ok := e.ErrorKind.(*kind.OneOf); ok {
			constraint = "oneOf"
		}
		r.add(tool.Issue{Path: pointer(e.InstanceLocation), Constraint: constraint, Got: r.got(e.InstanceLocation),
			Message: fmt.Sprintf("%s has none of the forms that are allowed.", r.subject(e.InstanceLocation))})
	}
}

func innermost(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) == 1 {
		e = e.Causes[0]
	}
	return e
}

// wrongType reports whether an alternative failed because the value itself, at that place, is of another type or value.
func wrongType(e *jsonschema.ValidationError, at []string) bool {
	if len(e.InstanceLocation) == len(at) {
		switch e.ErrorKind.(type) {
		case *kind.Type, *kind.Const:
			return true
		}
	}
	return slices.ContainsFunc(e.Causes, func(c *jsonschema.ValidationError) bool { return wrongType(c, at) })
}

// issue reports one error.
func (r *reporter) issue(e *jsonschema.ValidationError) {
	at := e.InstanceLocation
	i := tool.Issue{Path: pointer(at), Got: r.got(at)}
	subject := r.subject(at)
	not := ""
	if i.Got != "" {
		not = ", not " + i.Got
	}
	keyword := strings.Join(e.ErrorKind.KeywordPath(), "/")
	i.Constraint = keyword
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			path := append(slices.Clone(at), name)
			r.add(tool.Issue{Path: pointer(path), Constraint: "required", ExpectedType: r.typeOf(e.SchemaURL, name), Message: r.subject(path) + " is missing."})
		}
		return
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			path := append(slices.Clone(at), name)
			r.add(tool.Issue{Path: pointer(path), Constraint: "required", Message: fmt.Sprintf("%s is missing; %s needs it.", r.subject(path), k.Prop)})
		}
		return
	case *kind.AdditionalProperties:
		known := r.properties(e.SchemaURL)
		for _, name := range k.Properties {
			path := append(slices.Clone(at), name)
			x := tool.Issue{Path: pointer(path), Constraint: "additionalProperties", Allowed: known, Got: r.got(path), Suggestion: near(name, known)}
			switch {
			case x.Suggestion != "":
				x.Message = fmt.Sprintf("%s is not a known field; did you mean %s?", r.subject(path), x.Suggestion)
			case len(known) > 0:
				x.Message = fmt.Sprintf("%s is not a known field; the known fields are %s.", r.subject(path), strings.Join(known, ", "))
			default:
				x.Message = r.subject(path) + " is not a known field; none is known here."
			}
			r.add(x)
		}
		return
	case *kind.Type:
		i.ExpectedType = strings.Join(k.Want, " or ")
		i.Message = fmt.Sprintf("%s must be %s%s.", subject, article(i.ExpectedType), not)
	case *kind.Enum:
		for _, w := range k.Want {
			i.Allowed = append(i.Allowed, fmt.Sprint(w))
		}
		if got, ok := k.Got.(string); ok {
			i.ExpectedType, i.Suggestion = "string", near(got, i.Allowed)
		}
		i.Message = fmt.Sprintf("%s must be %s%s", subject, quotedList(i.Allowed), not)
		if i.Suggestion != "" {
			i.Message += fmt.Sprintf("; did you mean %s?", i.Suggestion)
		} else {
			i.Message += "."
		}
	case *kind.Const:
		i.Constraint, i.Allowed = "enum", []string{fmt.Sprint(k.Want)}
		i.Message = fmt.Sprintf("%s must be %v%s.", subject, k.Want, not)
	case *kind.Pattern:
		i.Limit, i.Message = k.Want, fmt.Sprintf("%s must match the pattern %s%s.", subject, k.Want, not)
	case *kind.Format:
		i.Limit, i.Message = k.Want, fmt.Sprintf("%s must have the format %s%s.", subject, k.Want, not)
	case *kind.Minimum:
		i.Limit, i.Message = number(k.Want), fmt.Sprintf("%s must be at least %s%s.", subject, decimal(k.Want), not)
	case *kind.Maximum:
		i.Limit, i.Message = number(k.Want), fmt.Sprintf("%s must be at most %s%s.", subject, decimal(k.Want), not)
	case *kind.ExclusiveMinimum:
		i.Limit, i.Message = number(k.Want), fmt.Sprintf("%s must be greater than %s%s.", subject, decimal(k.Want), not)
	case *kind.ExclusiveMaximum:
		i.Limit, i.Message = number(k.Want), fmt.Sprintf("%s must be less than %s%s.", subject, decimal(k.Want), not)
	case *kind.MultipleOf:
		i.Limit, i.Message = number(k.Want), fmt.Sprintf("%s must be a multiple of %s%s.", subject, decimal(k.Want), not)
	case *kind.MinLength:
		i.Limit, i.Message = k.Want, count(subject, "at least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		i.Limit, i.Message = k.Want, count(subject, "at most", k.Want, "character", k.Got)
	case *kind.MinItems:
		i.Limit, i.Message = k.Want, count(subject, "at least", k.Want, "element", k.Got)
	case *kind.MaxItems:
		i.Limit, i.Message = k.Want, count(subject, "at most", k.Want, "element", k.Got)
	case *kind.MinProperties:
		i.Limit, i.Message = k.Want, count(subject, "at least", k.Want, "field", k.Got)
	case *kind.MaxProperties:
		i.Limit, i.Message = k.Want, count(subject, "at most", k.Want, "field", k.Got)
	case *kind.UniqueItems:
		i.Message = fmt.Sprintf("%s has the same element twice, at %d and %d.", subject, k.Duplicates[0], k.Duplicates[1])
	case *kind.PropertyNames:
		i.Path = pointer(append(slices.Clone(at), k.Property))
		i.Constraint, i.Got = "propertyNames", strconv.Quote(k.Property)
		i.Message = fmt.Sprintf("The key %q of %s is not allowed.", k.Property, r.subject(at))
	case *kind.FalseSchema:
		i.Constraint, i.Message = "additionalProperties", subject+" is not allowed here."
	default:
		if i.Constraint == "" {
			i.Constraint = "schema"
		}
		i.Message = fmt.Sprintf("%s breaks the rule %s.", subject, i.Constraint)
	}
	r.add(i)
}

// subject names a place in a sentence.
func (r *reporter) subject(at []string) string {
	if len(at) == 0 {
		return "The " + r.schema.doc.Noun
	}
	s := strings.Join(at, ".")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// got is the value at a place as JSON, clipped.
func (r *reporter) got(at []string) string {
	v := r.doc
	for _, name := range at {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(x) {
				return ""
			}
			v = x[n]
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	if len(text) > 120 {
		return strings.ToValidUTF8(string(text[:120]), "") + "…"
	}
	return string(text)
}

// at finds the schema that an error names by its URL.
func (r *reporter) at(url string) map[string]any {
	_, fragment, _ := strings.Cut(url, "#")
	v := r.schema.raw
	for _, name := range strings.Split(strings.TrimPrefix(fragment, "/"), "/") {
		if name == "" {
			continue
		}
		name = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%22", `"`, "%20", " ").Replace(name)
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(x) {
				return nil
			}
			v = x[n]
		}
	}
	m, _ := v.(map[string]any)
	return m
}

// properties lists the known fields of an object, sorted: the order of the schema is lost when it is read.
func (r *reporter) properties(url string) []string {
	props, _ := r.at(url)["properties"].(map[string]any)
	var names []string
	for n := range props {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (r *reporter) typeOf(url, property string) string {
	props, _ := r.at(url)["properties"].(map[string]any)
	p, _ := props[property].(map[string]any)
	t, _ := p["type"].(string)
	return t
}

// near is the known name that was probably meant.
func near(word string, names []string) string {
	n := tool.Nearest(word, names)
	if n == "" || len(n) < 3 && len(word) > 3 {
		return ""
	}
	return n
}

func pointer(at []string) string {
	var b strings.Builder
	for _, name := range at {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// decimal is a bound as people write it.
func decimal(r *big.Rat) string { return strconv.FormatFloat(number(r), 'f', -1, 64) }

// number is a bound as a JSON number.
func number(r *big.Rat) float64 {
	f, _ := r.Float64() // the nearest one
	return f
}

func count(subject, how string, want int, what string, got int) string {
	if want != 1 {
		what += "s"
	}
	return fmt.Sprintf("%s must have %s %d %s; it has %d.", subject, how, want, what, got)
}

func article(t string) string {
	if t != "" && strings.Contains("aio", t[:1]) {
		return "an " + t
	}
	return "a " + t
}

func quotedList(names []string) string {
	var q []string
	for i, n := range names {
		if i == 12 {
			q = append(q, fmt.Sprintf("%d others", len(names)-i))
			break
		}
		q = append(q, strconv.Quote(n))
	}
	if len(q) < 2 {
		return strings.Join(q, "")
	}
	return strings.Join(q[:len(q)-1], ", ") + " or " + q[len(q)-1]
}
