package browser

import (
	"fmt"
	"regexp"

	gen "toolsvc/gen/toolsets/browser"
)

// secretName matches names of fields for secrets, for those that were never found.
var secretName = regexp.MustCompile(`(?i)passw|passcode|passphrase|\bpwd\b|\bcv[cv]\b|security code|비밀번호|パスワード|暗証番号`)

func namesSecret(t *gen.Target) bool {
	for _, s := range []*string{t.Name, t.Description, t.Selector} {
		if s != nil && secretName.MatchString(*s) {
			return true
		}
	}
	return false
}

// Secrets implements tool.Concealing: texts for fields whose contents are secret, by what the page says of them or, where they were not
// found, by their names.
func (a *attempt) Secrets() (pointers []string) {
	if a.act.kind == kindType && a.act.target != nil && (a.concealed || namesSecret(a.act.target)) {
		return []string{"/text"}
	}
	for i, f := range a.act.fields {
		if i < len(a.work.fields) && a.work.fields[i].was.Concealed || namesSecret(f.Target) {
			pointers = append(pointers, fmt.Sprintf("/fields/%d/value", i))
		}
	}
	return pointers
}
