package workspace

import "time"

// How coarse the times of files are. The kernel stamps files with the time of its last tick (up to 10 ms ago); some file systems keep whole
// seconds, or two.
const (
	tick         = 20 * time.Millisecond
	coarseSecond = 2 * time.Second
)

// isRacy reports whether a file that was last changed at ctime and read at readAt could be changed again, after it was read, without its
// time showing it: the rule that git follows for its index. ctime and readAt are nanoseconds since 1970, by the same clock.
func isRacy(ctime, readAt int64) bool {
	grain := tick
	if ctime%int64(time.Second) == 0 {
		grain = coarseSecond
	}
	return ctime > readAt-int64(grain)
}

// unchanged reports whether an entry that was read before needs no second look. The time of the last status change decides: unlike the time of
// modification, no program can set it back.
func unchanged(was *entry, now *stat) bool {
	return was != nil && !was.has(racy|assumed) && was.stat == *now
}
