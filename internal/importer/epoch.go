package importer

import (
	"math"
	"time"

	"github.com/stenohq/steno/pkg/events/scan"
)

// EpochTime is the RFC 3339 form of a JSON number that counts since 1970 in
// the given unit; "" when it is none, or outside of the years 1970 to 9999.
func EpochTime(raw []byte, unit time.Duration) string {
	if scan.KindOf(raw) != scan.Number {
		return ""
	}
	n, ok := scan.Float64(raw)
	ms := math.Round(n * float64(unit) / float64(time.Millisecond))
	const last = 253402300799999
	if !ok || !(ms > 0 && ms <= last) {
		return ""
	}
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
