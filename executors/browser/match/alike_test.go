package match

import (
	"slices"
	"testing"
)

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted string
		names  []string
		want   []string
	}{
		{"Playy", []string{"Stop", "Play", "Pause"}, []string{"Play"}},
		{"Add to cart", []string{"Add to basket", "Remove from basket", "Cart"}, []string{"Add to basket"}},
		{"SAVE", []string{"Safe", "Send"}, []string{"Safe"}},
		{"Delete", []string{"Play", "Stop"}, nil},
		{"Confirm order", []string{"Confirm", "confirm", "Order now"}, []string{"Confirm", "Order now"}},
		{"저장하기", []string{"저장", "취소"}, []string{"저장"}},
		{"x", []string{"", "Close"}, nil},
		{"Row 1", []string{"Row 2", "Row 3", "Row 4", "Row 5"}, []string{"Row 2", "Row 3", "Row 4"}},
	} {
		var got []string
		for _, i := range Alike(c.wanted, c.names, 3) {
			got = append(got, c.names[i])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q of %q: %q, want %q", c.wanted, c.names, got, c.want)
		}
	}
}
