package ocr

import (
	"image"
	"strconv"
	"strings"
)

// word is one word as the engine read it.
type word struct {
	text string
	// sure is how sure the engine is of the reading, 0 to 100.
	sure float64
	// box is in pixels of the picture that was read; later, of the screenshot.
	box image.Rectangle
}

// parseTSV reads the engine's table: one row for each page, block, paragraph, line and word,
// twelve columns, words being level 5 and pages counted from 1. Rows of another form (a
// header, an empty last line) carry no word.
func parseTSV(table string, pages int) [][]word {
	words := make([][]word, pages)
	for row := range strings.Lines(table) {
		column := strings.Split(strings.TrimRight(row, "\r\n"), "\t")
		if len(column) < 12 || column[0] != "5" {
			continue
		}
		text := strings.TrimSpace(column[11])
		page, err := strconv.Atoi(column[1])
		if text == "" || err != nil || page < 1 || page > pages {
			continue
		}
		var n [4]int
		for i := range n {
			v, e := strconv.Atoi(column[6+i])
			if e != nil {
				err = e
			}
			n[i] = v
		}
		sure, e := strconv.ParseFloat(column[10], 64)
		if err != nil || e != nil {
			continue
		}
		words[page-1] = append(words[page-1], word{text: text, sure: sure, box: image.Rect(n[0], n[1], n[0]+n[2], n[1]+n[3])})
	}
	return words
}
