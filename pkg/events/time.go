package events

import "time"

// TimeFormat is how this project writes times: RFC 3339 in UTC with
// milliseconds, always 24 bytes.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// MaxMillis is the last time TimeFormat can hold, in Unix milliseconds; the
// first is MinMillis.
const (
	MinMillis = -62135596800000 // 0001-01-01
	MaxMillis = 253402300799999 // 9999-12-31
)

// Time converts the timestamp to Unix milliseconds. It is not ok when there
// is none or it is not RFC 3339; the stored time then takes its place.
func (e *Event) Time() (ms int64, ok bool) { return ParseTime(e.Timestamp) }

// ParseTime converts an RFC 3339 time to Unix milliseconds, rounded down.
func ParseTime(s string) (ms int64, ok bool) {
	if s == "" {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, false
	}
	ms = t.UnixMilli()
	return ms, ms >= MinMillis && ms <= MaxMillis
}

// AppendTime appends the time in TimeFormat; times outside its range become
// the nearest inside.
func AppendTime(dst []byte, ms int64) []byte {
	return time.UnixMilli(min(max(ms, MinMillis), MaxMillis)).UTC().AppendFormat(dst, TimeFormat)
}

// FormatTime returns the time in TimeFormat.
func FormatTime(ms int64) string { return string(AppendTime(nil, ms)) }
