package ocr

import (
	"context"
	"image"
)

// engine reads words. An engine is used by one goroutine at a time.
type engine interface {
	// read returns the words of each picture, which holds a single line of dark text on white,
	// in pixels of that picture. When the context ends it returns the context's error soon, and
	// the engine can be used again. After any other error it cannot.
	read(ctx context.Context, lines []*image.Gray) ([][]word, error)
	// close frees the engine.
	close()
}

// opener makes engines of one kind.
type opener interface {
	// open readies an engine for languages in tesseract's notation ("eng", "eng+kor").
	open(languages string) (engine, error)
	// kind says how the engine runs, for messages.
	kind() string
}

// What every engine is told.
const (
	singleLine = 7  // tesseract's page segmentation mode for one line of text
	resolution = 96 // pixels per inch; only keeps it from guessing
)
