package verification_test

import (
	"encoding/json"
	"testing"

	"toolsvc/tool"
)

const targetSchema = `{"type":"object","additionalProperties":false,"required":["target"],"properties":{
  "target":{"$ref":"#/$defs/Target"},
  "text":{"type":"string"},"append":{"type":"boolean"},"submit":{"type":"boolean"},
  "values":{"type":"array","items":{"type":"string"}},
  "count":{"type":"integer"},"price":{"type":"number"},
  "headers":{"type":"object","additionalProperties":{"type":"string"}},
  "anything":{},
  "expect":{"type":"array","items":{"type":"string"}},"intent":{"type":"string"}},
 "$defs":{"Target":{"type":"object","additionalProperties":false,"anyOf":[{"required":["name"]},{"required":["selector"]}],
  "properties":{"name":{"type":"string"},"role":{"type":"string"},"selector":{"type":"string"},"nth":{"type":"integer"}}}}}`

const actedSchema = `{"type":"object","additionalProperties":false,"required":["url"],"properties":{
  "url":{"type":"string"},"title":{"type":"string"},"acted_on":{"type":"string"},"changed":{"type":"boolean"},
  "status":{"type":"integer"},"ratio":{"type":"number"},"rows":{"type":"array","items":{"type":"object","additionalProperties":false,
  "properties":{"id":{"type":"integer"},"label":{"type":["string","null"]}}}}}}`

const shopBefore = `{"values":{
  "page":{"url":"http://shop/","title":"Shop","ready":true,"text":"Welcome","dialogs":[],"errors":["old warning"],"requests":[],"media":[{"paused":true,"current_time":1.5,"ended":false}]},
  "target":{"exists":true,"visible":true,"enabled":true,"value":"","name":"Play","role":"button","count":1},
  "document":{"path":"a.md","exists":true,"words":120,"sections":[{"title":"Intro"}],"front_matter":{"words":120}}},
 "elements":[{"query":{"name":"Play","role":"button"},"state":{"exists":true,"visible":true,"text":"Play","count":1}}]}`

const shopAfter = `{"values":{
  "page":{"url":"http://shop/cart","title":"Cart (1)","ready":true,"text":"Order 17 placed","dialogs":[],"errors":["old warning"],
   "requests":[{"method":"GET","url":"http://shop/api/cart","status":200},{"method":"POST","url":"http://shop/api/orders","status":201}],
   "media":[{"paused":false,"current_time":2.5,"ended":false}]},
  "target":{"exists":true,"visible":true,"enabled":true,"checked":true,"value":"Hello","selected":["jp"],"selected_labels":["Japan"],"name":"Play","role":"button","count":1},
  "effect":{"delivered":true,"changed":true,"mutations":4,"requests":2,"navigated":false,"pixels":0.02,"proof":"4 nodes changed"},
  "document":{"path":"a.md","exists":true,"words":130,"sections":[{"title":"Intro"},{"title":"End"}],
   "front_matter":{"words":130,"ratio":0.5,"meta":{"b":1,"a":2}}},
  "exit_code":0,"stdout":"all ok\n","stderr":""},
 "elements":[
  {"query":{"name":"Play","role":"button"},"state":{"exists":true,"visible":true,"enabled":true,"text":"Play","count":1}},
  {"query":{"name":"Play"},"state":{"exists":true,"visible":true,"checked":true,"count":2}},
  {"query":{"name":"Gone"},"state":{"exists":false,"visible":false,"count":0}}]}`

// evidence decodes evidence as it arrives from a store.
func evidence(t testing.TB, text string) *tool.Evidence {
	t.Helper()
	var e tool.Evidence
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	return &e
}
