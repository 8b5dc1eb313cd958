package ocr

import (
	"context"
	"crypto/sha256"
	"image"
	"slices"
	"sync"
)

// reader reads strips, each look of a strip once.
type reader struct {
	pool  *pool
	known *recent[[sha256.Size]byte, []word]
}

// knownTiles bounds the memory of readings; a tile with its words takes about 300 bytes.
const knownTiles = 8192

func newReader(p *pool) *reader {
	return &reader{pool: p, known: newRecent[[sha256.Size]byte, []word](knownTiles)}
}

// read returns the words of each of the strips of a sheet, in pixels of the screenshot. They
// belong to the sheet: do not change them.
func (r *reader) read(ctx context.Context, s *sheet, which []int, languages string, height int) ([][]word, error) {
	words := make([][]word, len(which))
	var unread []int
	s.mu.Lock()
	for n, k := range which {
		known, ok := s.words[reading{k, languages, height}]
		if words[n] = known; !ok {
			unread = append(unread, n)
		}
	}
	s.mu.Unlock()
	if len(unread) == 0 {
		return words, ctx.Err()
	}
	tiles := make([]tile, len(unread))
	for i, n := range unread {
		tiles[i] = s.drawTile(&s.strips[which[n]], height)
	}
	read, err := r.readTiles(ctx, languages, tiles)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range unread {
		words[n] = slices.Clone(read[i])
		for j := range words[n] {
			words[n][j].box = tiles[i].inScreenshot(words[n][j].box)
		}
		s.words[reading{which[n], languages, height}] = words[n]
	}
	return words, nil
}

// readTiles returns the words of tiles, in pixels of the tile, reading only those that look new.
func (r *reader) readTiles(ctx context.Context, languages string, tiles []tile) ([][]word, error) {
	words := make([][]word, len(tiles))
	keys := make([][sha256.Size]byte, len(tiles))
	var unread []int
	for i := range tiles {
		keys[i] = tiles[i].key(languages)
		known, ok := r.known.get(keys[i])
		if words[i] = known; !ok {
			unread = append(unread, i)
		}
	}
	if err := r.readNew(ctx, languages, unread, tiles, words); err != nil {
		return nil, err
	}
	for _, i := range unread {
		r.known.put(keys[i], words[i])
	}
	return words, nil
}

// linesPerEngine is how many lines are worth an engine of their own.
const linesPerEngine = 6

// readNew lets as many engines as are worth it read tiles.
func (r *reader) readNew(ctx context.Context, languages string, unread []int, tiles []tile, words [][]word) error {
	if len(unread) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	share := max(linesPerEngine, (len(unread)+cap(r.pool.slots)-1)/cap(r.pool.slots))
	var all sync.WaitGroup
	for part := range slices.Chunk(unread, share) {
		all.Go(func() {
			lines := make([]*image.Gray, len(part))
			for i, n := range part {
				lines[i] = tiles[n].picture
			}
			got, err := r.pool.read(ctx, languages, lines)
			if err != nil {
				cancel(err)
				return
			}
			for i, n := range part {
				words[n] = got[i]
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
