package claudecode

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// next is the attempt after this one; nil when it is not known.
func next(attempt []byte) []byte {
	n, ok := scan.Int64(attempt)
	if !ok || n < 0 || n > 1<<31 {
		return nil
	}
	return strconv.AppendInt(nil, n+1, 10)
}

// status leaves out the code of a call that got no answer.
func status(code []byte) []byte {
	if string(code) == "0" {
		return nil
	}
	return code
}
