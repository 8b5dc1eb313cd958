package memory

import "testing"

func TestRelate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want relation
	}{
		{"Save", "save", same},
		{"Sign in", "Log in", same},
		{"Sign in", "Anmelden", same},
		{"Delete", "삭제", same},
		{"Save changes", "Save", same},
		{"Inbox (3)", "Inbox (12)", same},
		{"Changes: save", "Save the changes", same},
		{"Add to cart", "Add to basket", same},
		{"E-mail", "Your email address", same},
		{"Prefrences pane", "Preferences pane", near},
		{"保存", "保存する", same},
		{"領収書", "領収書を", near},
		{"Load more", "Load more coffees", near},
		{"Choose plan", "Pick this plan", shares},
		{"Save changes", "変更を保存", near},
		{"Save draft", "Save as draft", same},
		{"Edit", "Change", same},
		{"Save", "Save draft", unrelated},
		{"Save", "Preview", unrelated},
		{"Delete", "Delete all", contrary},
		{"Save", "Save as template", contrary},
		{"削除", "すべて削除", contrary},
		{"Approve", "Reject", contrary},
		{"Sign in", "Sign out", contrary},
		{"Like", "Unlike", contrary},
		{"Mark as read", "Mark as unread", contrary},
		{"Step 2", "Step 3", contrary},
		{"Next", "Previous", contrary},
	} {
		if got := relate(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := relate(c.b, c.a); got != c.want {
			t.Errorf("%q and %q: %d, want %d, as the other way round", c.b, c.a, got, c.want)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"save-btn", "btnSave", 1},
		{"save-order", "save-order", 1},
		{"save-order", "saveInvoice", 0.5},
		{"btn", "button", 0},
		{"add-1", "add-2", 0},
		{"next-btn", "back-btn", 0},
		{"", "", 0},
	} {
		if got := identifiers(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	for id, want := range map[string]bool{"save-btn": false, "email": false, ":r7:": true, "ext-gen-1042": true, "mui-12": true, "field3": true, "a-9f8e7d": true, "": false} {
		if got := generated(id); got != want {
			t.Errorf("%q is generated: %v, want %v", id, got, want)
		}
	}
}
