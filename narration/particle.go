package narration

import (
	"strings"
	"unicode"
)

// particle chooses the Korean particle that fits after a word. forms are the one after a final consonant and the one after a vowel: "을/를",
// "이/가", "은/는", "과/와", "으로/로". Where the sound is not known (a foreign word that may be read either way), it is both, as Koreans
// write it themselves: "을(를)", "(으)로".
func particle(word, forms string) string {
	closed, open, _ := strings.Cut(forms, "/")
	switch ending(word) {
	case consonant:
		return closed
	case rieul:
		if closed == "으로" { // after ㄹ it is 로
			return open
		}
		return closed
	case vowel:
		return open
	}
	if closed == "으로" {
		return "(으)로"
	}
	return closed + "(" + open + ")"
}

// sound is how a word ends when it is read in Korean.
type sound int

const (
	unknown sound = iota
	vowel
	rieul // the consonant ㄹ
	consonant
)

// ending finds how the word ends, leaving quotation marks and punctuation out.
func ending(word string) sound {
	letters := []rune(strings.TrimRightFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	if len(letters) == 0 {
		return unknown
	}
	last := letters[len(letters)-1]
	switch {
	case last >= '가' && last <= '힣':
		switch (last - '가') % 28 { // the syllable's final: 0 is none, 8 is ㄹ
		case 0:
			return vowel
		case 8:
			return rieul
		}
		return consonant
	case last >= '0' && last <= '9': // 영 일 이 삼 사 오 육 칠 팔 구
		return [...]sound{consonant, rieul, vowel, consonant, vowel, vowel, consonant, rieul, rieul, vowel}[last-'0']
	case last >= 'ぁ' && last <= 'ヿ':
		if last == 'ん' || last == 'ン' {
			return consonant
		}
		return vowel
	}
	return latin(letters)
}

// latin guesses the ending of a word in Latin letters from how such words are written in Hangul; unknown where they go both ways.
func latin(letters []rune) sound {
	n := len(letters)
	for n > 0 && letters[n-1] < 128 && unicode.IsLetter(letters[n-1]) {
		n--
	}
	word := string(letters[n:])
	if word == "" {
		return unknown
	}
	if word == strings.ToUpper(word) { // letters read by their names: 엘, 알, 엠, 엔
		switch word[len(word)-1] {
		case 'L', 'R':
			return rieul
		case 'M', 'N':
			return consonant
		}
		return vowel
	}
	word = strings.ToLower(word)
	switch {
	case strings.HasSuffix(word, "ng"):
		return consonant
	case strings.HasSuffix(word, "l"):
		return rieul
	case strings.ContainsAny(word[len(word)-1:], "mn"):
		return consonant
	case strings.ContainsAny(word[len(word)-1:], "aiouywrsxfhzvdj"): // 플레이, 폴더, 세팅스, 서치, 다운로드
		return vowel
	}
	return unknown // Home is 홈, Save is 세이브; Stop is 스톱, Map is 맵 and Chart is 차트
}
