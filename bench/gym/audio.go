package gym

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync"
)

// song is ten seconds of a quiet chord, as a WAV file: so that a player's page has something real to play.
var song = sync.OnceValue(func() []byte {
	const rate, seconds = 8000, 10
	samples := make([]int16, rate*seconds)
	for i := range samples {
		t := float64(i) / rate
		var v float64
		for n, hertz := range []float64{220, 277.2, 329.6, 440} {
			v += math.Sin(2*math.Pi*hertz*t) * (0.5 + 0.5*math.Sin(2*math.Pi*t/5+float64(n)))
		}
		edge := min(1, t*4, (seconds-t)*4) // no click where the song begins anew
		samples[i] = int16(v * edge * 1200)
	}
	var b bytes.Buffer
	size := uint32(2 * len(samples))
	b.WriteString("RIFF")
	for _, field := range []any{36 + size, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate), uint16(2), uint16(16), []byte("data"), size, samples} {
		if err := binary.Write(&b, binary.LittleEndian, field); err != nil {
			panic(err) // a buffer takes everything
		}
	}
	return b.Bytes()
})
