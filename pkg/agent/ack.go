package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// refusedError says that the server will never take the message.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return "refused: " + e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// JetStream's error codes of messages that never fit (the server's
// errors.json).
const (
	codeTooLarge       = 10054
	codeHeaderTooLarge = 10097
	codeStoreFailed    = 10077 // with the reason in words
)

// parseAck reads the server's answer to a publish: the stream sequence or why
// it was not stored.
func parseAck(m *nats.Msg) (uint64, error) {
	if len(m.Data) == 0 {
		if m.Header.Get("Status") == "503" {
			return 0, errors.New("no event stream answers: is the recorder's NATS set up?")
		}
		return 0, errors.New("an empty answer to a publish")
	}
	if seq, ok := quickAck(m.Data); ok {
		return seq, nil
	}
	var ack struct {
		Seq   uint64              `json:"seq"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return 0, fmt.Errorf("decode the answer to a publish: %w", err)
	}
	switch {
	case ack.Error == nil && ack.Seq > 0:
		return ack.Seq, nil
	case ack.Error == nil:
		return 0, errors.New("the answer to a publish names no sequence")
	case forGood(ack.Error):
		return 0, &refusedError{err: ack.Error}
	default:
		return 0, ack.Error
	}
}

// forGood says whether sending the same message again is in vain.
func forGood(e *jetstream.APIError) bool {
	switch int(e.ErrorCode) {
	case codeTooLarge, codeHeaderTooLarge:
		return true
	case codeStoreFailed:
		return strings.Contains(e.Description, "message too large")
	default:
		return false
	}
}

// quickAck reads the usual form, {"stream":"…","seq":N…}, without a parser: it
// comes once for each event.
func quickAck(data []byte) (uint64, bool) {
	const stream, seq = `{"stream":"`, `","seq":`
	if !bytes.HasPrefix(data, []byte(stream)) {
		return 0, false
	}
	i := bytes.Index(data, []byte(seq))
	if i < 0 || bytes.IndexByte(data[len(stream):i], '"') >= 0 {
		return 0, false
	}
	digits := data[i+len(seq):]
	n := 0
	for n < len(digits) && digits[n] >= '0' && digits[n] <= '9' {
		n++
	}
	if n == 0 || n == len(digits) || digits[n] != ',' && digits[n] != '}' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(digits[:n]), 10, 64)
	if err != nil || v == 0 {
		return 0, false
	}
	return v, true
}
