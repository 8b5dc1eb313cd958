package ocr

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"toolsvc/executors/browser/vision"
)

// How to get what may be missing.
const installHint = "install tesseract 5 with its English data: `apt-get install tesseract-ocr` (Debian, Ubuntu), " +
	"`dnf install tesseract` (Fedora), `apk add tesseract-ocr tesseract-ocr-data-eng` (Alpine), `brew install tesseract` (macOS); " +
	"or set TESSDATA_PREFIX to the folder that holds eng.traineddata"

// dataFolders are the places where traineddata files are looked for, in this order. Prefix is
// TESSDATA_PREFIX, which means the folder itself in tesseract 4 and later and its parent before.
func dataFolders(prefix string) []string {
	var folders []string
	if prefix != "" {
		folders = append(folders, prefix, filepath.Join(prefix, "tessdata"))
	}
	return append(folders,
		"/usr/share/tesseract-ocr/5/tessdata", "/usr/share/tesseract-ocr/4.00/tessdata", "/usr/share/tesseract-ocr/tessdata",
		"/usr/share/tessdata", "/usr/share/tesseract/tessdata", "/usr/local/share/tessdata",
		"/opt/homebrew/share/tessdata", "/opt/local/share/tessdata")
}

// findData returns the first folder with the data of a language that every reading needs.
func findData(folders []string) (string, error) {
	for _, f := range folders {
		if hasLanguage(f, english) {
			return f, nil
		}
	}
	return "", fmt.Errorf("%s.traineddata is in none of %s", english, strings.Join(folders, ", "))
}

func hasLanguage(folder, language string) bool {
	info, err := os.Stat(filepath.Join(folder, language+".traineddata"))
	return err == nil && info.Mode().IsRegular()
}

// Languages in tesseract's notation.
const (
	english  = "eng"
	korean   = "kor"
	japanese = "jpn"
)

// languagesOf says which languages are needed to read these texts: English always, Korean
// and Japanese by their scripts. Chinese characters alone are read as Japanese.
func languagesOf(texts ...string) []string {
	languages := []string{english}
	for _, r := range strings.Join(texts, "") {
		switch {
		case unicode.Is(unicode.Hangul, r):
			languages = append(languages, korean)
		case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han):
			languages = append(languages, japanese)
		}
	}
	slices.Sort(languages[1:])
	return slices.Compact(languages)
}

// checkLanguages returns an error that says what to install if a language is missing.
func checkLanguages(folder string, languages []string) error {
	for _, l := range languages {
		if !hasLanguage(folder, l) {
			return fmt.Errorf("%w: the text to find needs tesseract's data %q, which is not in %s: `apt-get install tesseract-ocr-%s` or add %s.traineddata there",
				vision.ErrUnavailable, l, folder, l, l)
		}
	}
	return nil
}
