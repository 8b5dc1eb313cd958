package tool

import (
	"fmt"
	"strconv"
	"strings"
)

// maxListed bounds how many allowed values or names a sentence lists; Issue.Allowed has all.
const maxListed = 12

// maxSubject bounds the name of a field in a sentence, in bytes.
const maxSubject = 200

// sentence puts a finding into one plain sentence.
func sentence(f finding, noun string) string {
	subject := "The " + noun
	if f.Path != "" {
		subject = clip(oneLine(inWords([]string{pointerUnescapes.Replace(f.Path)})), maxSubject)
	}
	not := ""
	if f.Got != "" {
		not = ", not " + f.Got
	}
	if f.Got == Redacted {
		not = ""
	}
	mean := "."
	if f.Suggestion != "" {
		mean = "; did you mean " + f.Suggestion + "?"
	}
	switch f.Constraint {
	case "type":
		if f.ExpectedType == "" {
			return subject + " has no form in JSON."
		}
		return subject + " must be " + article(f.ExpectedType) + not + "."
	case "required":
		return subject + " is missing."
	case "anyOf":
		return subject + " needs at least one of " + listed(f.Allowed, "or", false) + "."
	case "oneOf":
		return fmt.Sprintf("%s must have exactly one of %s; it has %s.", subject, listed(f.Allowed, "or", false), amount(f.count))
	case "additionalProperties":
		if f.Suggestion == "" {
			if len(f.Allowed) == 0 {
				return subject + " is not a known field; none is known here."
			}
			mean = "; the known fields are " + listed(f.Allowed, "and", false) + "."
		}
		return subject + " is not a known field" + mean
	case ConstraintDuplicate:
		return subject + " stands there more than once."
	case "enum":
		return subject + " must be " + listed(f.Allowed, "or", f.ExpectedType == "string") + not + mean
	case "pattern":
		return subject + " must match the pattern " + fmt.Sprint(f.Limit) + not + "."
	case "format":
		return subject + " must be " + Format(fmt.Sprint(f.Limit)).words() + not + "."
	case "contentEncoding":
		return subject + " must be base64 text with padding" + not + "."
	case "minimum":
		return subject + " must be at least " + numberText(f.Limit) + not + "."
	case "maximum":
		return subject + " must be at most " + numberText(f.Limit) + not + "."
	case "exclusiveMinimum":
		return subject + " must be greater than " + numberText(f.Limit) + not + "."
	case "exclusiveMaximum":
		return subject + " must be less than " + numberText(f.Limit) + not + "."
	case "minLength", "minItems", "minProperties":
		return fmt.Sprintf("%s must have at least %s; it has %s.", subject, counted(f.Limit, f.Constraint, f.unit), amount(f.count))
	case "maxLength", "maxItems", "maxProperties":
		return fmt.Sprintf("%s must have at most %s; it has %s.", subject, counted(f.Limit, f.Constraint, f.unit), amount(f.count))
	case "propertyNames":
		return "The key " + keySentence(f)
	case ConstraintMaxBytes:
		return fmt.Sprintf("The %s has %d bytes, more than the %v that are allowed.", noun, f.count, f.Limit)
	case ConstraintMaxDepth:
		return fmt.Sprintf("%s is nested deeper than the %v levels that are allowed.", subject, f.Limit)
	case ConstraintSyntax:
		return fmt.Sprintf("The %s is not valid JSON: %s.", noun, f.detail+f.position)
	}
	return subject + " breaks the rule " + f.Constraint + "."
}

// keySentence says which rule a key of a map breaks.
func keySentence(f finding) string {
	key, parent := f.Got, ""
	if i := strings.LastIndexByte(f.Path, '/'); i > 0 {
		parent = " of " + clip(oneLine(inWords([]string{pointerUnescapes.Replace(f.Path[:i])})), maxSubject)
	}
	what := key + parent
	switch f.keyConstraint {
	case "enum":
		return what + " must be " + listed(f.Allowed, "or", true) + "."
	case "pattern":
		return what + " must match the pattern " + fmt.Sprint(f.Limit) + "."
	case "format":
		return what + " must be " + Format(fmt.Sprint(f.Limit)).words() + "."
	case "minLength":
		return fmt.Sprintf("%s must have at least %s.", what, counted(f.Limit, f.keyConstraint, ""))
	}
	return fmt.Sprintf("%s must have at most %s.", what, counted(f.Limit, f.keyConstraint, ""))
}

func article(jsonType string) string {
	if strings.HasPrefix(jsonType, "a") || strings.HasPrefix(jsonType, "i") || strings.HasPrefix(jsonType, "o") {
		return "an " + jsonType
	}
	return "a " + jsonType
}

func listed(names []string, last string, quoted bool) string {
	shown := make([]string, 0, maxListed+1)
	for i, n := range names {
		if i == maxListed {
			shown = append(shown, fmt.Sprintf("%d others", len(names)-i))
			break
		}
		if quoted {
			n = strconv.Quote(n)
		}
		shown = append(shown, n)
	}
	return list(shown, last)
}

func amount(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

// units are what the constraints on lengths count, one and several.
var units = map[string][2]string{
	"minLength": {"character", "characters"}, "maxLength": {"character", "characters"},
	"minItems": {"element", "elements"}, "maxItems": {"element", "elements"},
	"minProperties": {"entry", "entries"}, "maxProperties": {"entry", "entries"},
}

// counted renders a limit with what it counts: "1 character", "3 elements".
func counted(limit any, constraint, unit string) string {
	names := units[constraint]
	if unit != "" {
		names = [2]string{unit, unit + "s"}
	}
	if limit == 1 {
		return "1 " + names[0]
	}
	return fmt.Sprintf("%v %s", limit, names[1])
}
