package narration

import "testing"

func TestParticle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ word, object, direction string }{
		{"재생", "을", "으로"}, // a final consonant
		{"노래", "를", "로"},  // none
		{"파일", "을", "로"},  // ㄹ: 로, not 으로
		{"“재생”", "을", "으로"},
		{"재생 (2)", "를", "로"}, // 이
		{"1", "을", "로"}, {"3", "을", "으로"}, {"5", "를", "로"}, {"10", "을", "으로"}, {"0", "을", "으로"}, {"7", "을", "로"}, {"6", "을", "으로"}, {"9", "를", "로"},
		{"DOM", "을", "으로"}, {"URL", "을", "로"}, {"AI", "를", "로"}, {"CSS", "를", "로"}, {"R", "을", "로"}, {"PDF", "를", "로"},
		{"Album", "을", "으로"}, {"Login", "을", "으로"}, {"Email", "을", "로"}, {"Setting", "을", "으로"},
		{"Play", "를", "로"}, {"Menu", "를", "로"}, {"Folder", "를", "로"}, {"Settings", "를", "로"}, {"Search", "를", "로"},
		{"Home", "을(를)", "(으)로"}, {"Submit", "을(를)", "(으)로"}, // read with and without a final consonant
		{"버튼 OK", "를", "로"}, {"v2 버튼", "을", "으로"},
		{"ボタン", "을", "으로"}, {"メニュー", "를", "로"}, {"検索", "을(를)", "(으)로"},
		{"", "을(를)", "(으)로"}, {"…", "을(를)", "(으)로"}, {"🎵", "을(를)", "(으)로"}, {"Café", "을(를)", "(으)로"},
	} {
		if got := particle(c.word, "을/를"); got != c.object {
			t.Errorf("%q: object %s, want %s", c.word, got, c.object)
		}
		if got := particle(c.word, "으로/로"); got != c.direction {
			t.Errorf("%q: direction %s, want %s", c.word, got, c.direction)
		}
	}
}
