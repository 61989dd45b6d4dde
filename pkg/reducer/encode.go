package reducer

import (
	"math"
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// The writers below append JSON members, each with a comma behind it, to an
// open object; closeObject turns the last comma into the bracket. The order of
// members is fixed, so equal values have equal bytes.

func closeObject(b []byte) []byte { return closeWith(b, '}') }

func closeArray(b []byte) []byte { return closeWith(b, ']') }

func closeWith(b []byte, bracket byte) []byte {
	if b[len(b)-1] == ',' {
		b[len(b)-1] = bracket
		return b
	}
	return append(b, bracket)
}

// name appends a member's name and colon. Names are plain ASCII.
func name(b []byte, key string) []byte {
	b = append(b, '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

// putString appends a member even when it is empty.
func putString(b []byte, key, v string) []byte {
	return append(scan.AppendQuote(name(b, key), v), ',')
}

// putID appends a member whose empty value means absence.
func putID[T ~string](b []byte, key string, v T) []byte {
	if v == "" {
		return b
	}
	return putString(b, key, string(v))
}

func putOptString(b []byte, key string, v Opt[string]) []byte {
	if !v.Set {
		return b
	}
	return putString(b, key, v.V)
}

func putInt(b []byte, key string, v int64) []byte {
	return append(strconv.AppendInt(name(b, key), v, 10), ',')
}

func putNumber(b []byte, key string, v float64) []byte {
	return append(appendNumber(name(b, key), v), ',')
}

func putOptNumber(b []byte, key string, v Opt[float64]) []byte {
	if !v.Set {
		return b
	}
	return putNumber(b, key, v.V)
}

func putBool(b []byte, key string, v bool) []byte {
	return append(strconv.AppendBool(name(b, key), v), ',')
}

// putRaw appends an opaque value byte for byte; null is absence.
func putRaw(b []byte, key string, v Raw) []byte {
	if v == "" || v == "null" {
		return b
	}
	return append(append(name(b, key), v...), ',')
}

func putIDs(b []byte, key string, ids []string) []byte {
	if len(ids) == 0 {
		return b
	}
	return append(appendIDs(name(b, key), ids), ',')
}

func appendIDs(b []byte, ids []string) []byte {
	b = append(b, '[')
	for _, id := range ids {
		b = append(scan.AppendQuote(b, id), ',')
	}
	return closeArray(b)
}

// jsonWriter is what entities are.
type jsonWriter interface{ AppendJSON(dst []byte) []byte }

func putObject(b []byte, key string, v jsonWriter) []byte {
	return append(v.AppendJSON(name(b, key)), ',')
}

// appendNumber writes a number as ECMAScript does. What JSON cannot write, the
// infinities and NaN, becomes 0; no decoder produces them.
func appendNumber(b []byte, v float64) []byte {
	if math.IsInf(v, 0) || math.IsNaN(v) || v == 0 {
		return append(b, '0')
	}
	if abs := math.Abs(v); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	start := len(b)
	b = strconv.AppendFloat(b, v, 'e', -1, 64)
	// e-07 becomes e-7.
	if n := len(b); n-start >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}
