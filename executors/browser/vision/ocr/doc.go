// Package ocr is a vision.Grounder that finds targets by the words on the screen. It needs no
// key, no network and no model: tesseract on this machine reads, everything else is Go.
//
// The browser executor calls it when neither the accessibility tree nor the DOM knows the
// target. How a picture is read:
//
//  1. surface.go takes the picture apart into surfaces (page, panels, faces of buttons);
//     ink.go measures what differs from the surface around it; blob.go keeps of it what can
//     be a letter. Where there are no surfaces (photographs, noise), busy.go looks for letters
//     by the colours that text repeats and photographs do not.
//  2. strip.go gathers letters on one surface into strips: one line of one label each. tile.go
//     draws a strip black on white at the size that tesseract reads best.
//  3. Only strips whose length suits the words that are looked for are read (reader.go), each
//     once: a strip that looks as before is not read again, in this picture or the next.
//  4. phrase.go compares, scope.go tells twins apart by headings and neighbours. Both are
//     pure functions over words and boxes.
//
// The invariant is that a wrong place is never returned: a text is compared as a whole, never
// as a part of a longer one; a strip that may have lost a letter does not count; what was not
// read well enough is left out; equals are all returned.
package ocr
