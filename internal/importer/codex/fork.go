package codex

import (
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
)

// fork follows how much of the file was copied from the session it was forked
// from. A turn of its own has an id, or a start, that is not older than the
// session. Copies without such ids were written in one go, with the time of the
// fork or with their old times.
type fork struct {
	is      bool  // the file is that of a fork
	copied  bool  // the present record is a copy
	begins  bool  // nothing but session_meta stood in the file so far
	since   int64 // when the session began, ms since 1970
	ids     bool  // copies have turn ids that tell
	old     bool  // copies have their old times
	newest  int64 // time of the newest copy
	decided bool  // a turn of the session's own has begun
}

// burst is how far apart two records are that were copied in one go, in ms.
const burst = 1000

// begin takes the file's own session_meta.
func (f *fork) begin(r *record) {
	f.begins = true
	var ok bool
	if f.since, ok = uuidTime(r.Str("id")); !ok {
		f.since, _ = millis(timeOf(r.object["timestamp"]))
	}
	f.newest, _ = millis(r.time)
	f.is = r.Str("forked_from_id") != ""
	f.copied = f.is
}

// parent takes the session_meta of another session: it begins a copy when the
// file begins with it.
func (f *fork) parent() {
	if f.begins {
		f.is, f.copied = true, true
	}
}

// passes takes the time of a record.
func (f *fork) passes(r *record) {
	if r.kind != "session_meta" {
		f.begins = false
	}
	if !f.copied || f.ids {
		return
	}
	now, ok := millis(r.time)
	switch {
	case !ok:
	case now < f.since:
		f.old = f.old || r.kind != "session_meta"
	case f.old || f.newest > 0 && now-f.newest > burst:
		f.copied = false
	default:
		f.newest = now
	}
}

// turn takes the id of a turn, and when it started in seconds since 1970.
func (f *fork) turn(id string, started []byte) {
	if !f.is || f.decided {
		return
	}
	at, ok := uuidTime(id)
	if !ok {
		if at, ok = scan.Int64(started); !ok {
			return
		}
		at = at*1000 + 999 // whole seconds are rounded down
	}
	f.ids = true
	f.copied = at < f.since
	f.decided = !f.copied
}

// uuid says whether a text has the form of a UUID.
func uuid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
			if !hex {
				return false
			}
		}
	}
	return true
}

// uuidTime is when a UUIDv7 was made, in ms since 1970.
func uuidTime(s string) (int64, bool) {
	if !uuid(s) || s[14] != '7' {
		return 0, false
	}
	ms, err := strconv.ParseInt(strings.ReplaceAll(s[:13], "-", ""), 16, 64)
	return ms, err == nil
}
