package repair

// The bounds of a repair, beside [tool.MaxPayload] and [tool.MaxDepth].
const (
	// MaxRepairs bounds the corrections of one payload by the lossless tier. A payload that needs more gets none of the others.
	MaxRepairs = 64
	// maxRounds bounds how often the lossless tier looks again at what it has made: a value inside JSON text inside a wrapper takes three.
	maxRounds = 6
	// maxTrials bounds how many places with several readings are tried out, in one round.
	maxTrials = 16
	// maxBracketText and maxBracketPlaces bound the search for the place of a missing bracket, in bytes and places.
	maxBracketText   = 8 << 10
	maxBracketPlaces = 256
	// maxShown bounds what a repair shows of a value, in bytes.
	maxShown = 128
)
