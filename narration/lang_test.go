package narration

import (
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preferences []string
		want        Lang
	}{
		{nil, English}, {[]string{""}, English}, {[]string{"en"}, English}, {[]string{"ko"}, Korean}, {[]string{"ja"}, Japanese},
		{[]string{"ko-KR"}, Korean}, {[]string{"ja-JP"}, Japanese}, {[]string{"ko-Kore-KP"}, Korean}, {[]string{"en-GB"}, English}, {[]string{"JA"}, Japanese},
		{[]string{"ko_KR.UTF-8"}, Korean}, {[]string{"ja_JP.eucJP@x"}, Japanese}, {[]string{"C.UTF-8"}, English}, {[]string{"POSIX"}, English}, {[]string{"ko_KR@euro"}, Korean},
		{[]string{"fr"}, English}, {[]string{"zh-Hans"}, English}, {[]string{"xx-broken-!"}, English}, {[]string{"한국어"}, English},
		{[]string{"fr, ja;q=0.5, en;q=0.1"}, Japanese}, {[]string{"en;q=0.3, ko;q=0.9"}, Korean}, {[]string{"ko;q=0, ja"}, Japanese},
		{[]string{"de", "", "ko-KR"}, Korean}, {[]string{"!!", "ja"}, Japanese},
	} {
		if got := Match(c.preferences...); got != c.want {
			t.Errorf("%q: %s, want %s", c.preferences, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d          time.Duration
		en, ko, ja string
	}{
		{0, "0.0 s", "0.0초", "0.0秒"},
		{-time.Second, "0.0 s", "0.0초", "0.0秒"},
		{1234 * time.Millisecond, "1.2 s", "1.2초", "1.2秒"},
		{9949 * time.Millisecond, "9.9 s", "9.9초", "9.9秒"},
		{9951 * time.Millisecond, "10 s", "10초", "10秒"},
		{59*time.Second + 400*time.Millisecond, "59 s", "59초", "59秒"},
		{59*time.Second + 600*time.Millisecond, "1 min 0 s", "1분 0초", "1分0秒"},
		{125 * time.Second, "2 min 5 s", "2분 5초", "2分5秒"},
		{time.Hour - time.Millisecond, "1 h 0 min", "1시간 0분", "1時間0分"},
		{50*time.Hour + 90*time.Second, "50 h 2 min", "50시간 2분", "50時間2分"},
	} {
		for lang, want := range map[string]string{"en": c.en, "ko": c.ko, "ja": c.ja} {
			if got := Duration(c.d, lang); got != want {
				t.Errorf("%v in %s: %q, want %q", c.d, lang, got, want)
			}
		}
	}
}
