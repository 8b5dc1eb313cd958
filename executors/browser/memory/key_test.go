package memory

import "testing"

func TestPageOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]Page{
		"https://Shop.example/orders/17?x=1#top":                              {"https://shop.example", "/orders/*"},
		"https://shop.example/orders/17/":                                     {"https://shop.example", "/orders/*"},
		"https://shop.example":                                                {"https://shop.example", "/"},
		"http://shop.example:8080/":                                           {"http://shop.example:8080", "/"},
		"https://shop.example/api/v2/items/order-4711":                        {"https://shop.example", "/api/v2/items/order-*"},
		"https://shop.example/u/9f1c2d3e-0000-4000-8000-1234567890ab/profile": {"https://shop.example", "/u/*/profile"},
		"https://shop.example/d/deadbeef01":                                   {"https://shop.example", "/d/*"},
		"https://shop.example/app#/users/42?tab=a":                            {"https://shop.example", "/app#/users/*"},
		"https://shop.example/facade":                                         {"https://shop.example", "/facade"},
	} {
		if got, ok := PageOf(address); !ok || got != want {
			t.Errorf("%s: %+v, %v", address, got, ok)
		}
	}
	for _, address := range []string{"about:blank", "file:///etc/hosts", "data:text/html,x", "", "about:srcdoc"} {
		if got, ok := PageOf(address); ok {
			t.Errorf("%s is %+v", address, got)
		}
	}
}

func TestTargetsThatAreNotRemembered(t *testing.T) {
	t.Parallel()
	for _, target := range []Target{{}, {Role: "button"}, {Within: "x", Near: "y"}, {Name: string(make([]byte, 2000))}} {
		if k := target.key(); k != "" {
			t.Errorf("%+v has the key %q", target, k)
		}
	}
}
