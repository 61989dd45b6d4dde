package kvstate

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/statestore"
)

// Error codes of the server, as in its errors.json.
const (
	codeNoMessage        jetstream.ErrorCode = 10037
	codeMessageTooLarge  jetstream.ErrorCode = 10054
	codeWrongLast        jetstream.ErrorCode = 10071
	codeStoreFailed      jetstream.ErrorCode = 10077
	codeDuplicateRunning jetstream.ErrorCode = 10158
	codeWrongLastRunning jetstream.ErrorCode = 10164
	codeIncompleteBatch  jetstream.ErrorCode = 10176
	codeBatchTooLarge    jetstream.ErrorCode = 10199
	codeTooManyBatches   jetstream.ErrorCode = 10210
)

type pubAck struct {
	Error *jetstream.APIError `json:"error"`
	Seq   uint64              `json:"seq"`
	Count int                 `json:"count"`
}

// parseAck reads the answer to a publish and turns a refusal into an error.
func parseAck(m *nats.Msg) (pubAck, error) {
	if m.Header.Get("Status") == "503" {
		return pubAck{}, requestError(nats.ErrNoResponders)
	}
	var ack pubAck
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return ack, fmt.Errorf("%w: unreadable acknowledgement %.100q", statestore.ErrAmbiguous, m.Data)
	}
	if ack.Error != nil {
		return ack, refusal(ack.Error)
	}
	if ack.Seq == 0 {
		return ack, fmt.Errorf("%w: acknowledgement without a sequence %.100q", statestore.ErrAmbiguous, m.Data)
	}
	return ack, nil
}

// refusal maps an error of the server to the port's.
func refusal(e *jetstream.APIError) error {
	var kind error
	switch {
	case e.ErrorCode == codeWrongLast:
		kind = statestore.ErrConflict
	// A write of the same subject is under way, or there are too many batches.
	case e.ErrorCode == codeWrongLastRunning, e.ErrorCode == codeDuplicateRunning, e.ErrorCode == codeTooManyBatches:
		kind = statestore.ErrBusy
	case e.ErrorCode == codeBatchTooLarge, e.ErrorCode == codeMessageTooLarge:
		kind = statestore.ErrTooLarge
	// Incomplete is also what the second copy of a commit message is told,
	// which a reconnecting client may send, after the first was stored. A store
	// that failed may have done so half way.
	case e.ErrorCode == codeIncompleteBatch, e.ErrorCode == codeStoreFailed:
		kind = statestore.ErrAmbiguous
	case e.Code == 503, e.Code == 429:
		kind = statestore.ErrBusy
	default:
		return fmt.Errorf("the server refused: %s (code %d)", e.Description, e.ErrorCode)
	}
	return fmt.Errorf("%w: %s (code %d)", kind, e.Description, e.ErrorCode)
}
