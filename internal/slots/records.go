package slots

import (
	"encoding/json"
	"fmt"
	"time"
)

// termRecord is the value of term.<role>.<slot>.
type termRecord struct {
	Holder   string `json:"holder"`
	Nonce    string `json:"nonce"` // of one attempt to take the slot
	Released bool   `json:"released,omitempty"`
}

// Checkpoint is how far a slot is saved: everything of the stream up to and
// including StreamSeq.
type Checkpoint struct {
	Stream    string
	Created   time.Time // of the stream; zero when there is no checkpoint yet
	StreamSeq uint64
	// Fold is the lowest fold version among the slot's heads (projector).
	Fold int
}

// checkpointRecord is the value of ckpt.<role>.<slot>.
type checkpointRecord struct {
	Stream    string    `json:"stream"`
	Created   time.Time `json:"stream_created"`
	StreamSeq uint64    `json:"stream_seq"`
	Term      uint64    `json:"term"`
	Fold      int       `json:"fold,omitempty"`
}

func encodeCheckpoint(c Checkpoint, term uint64) ([]byte, error) {
	b, err := json.Marshal(checkpointRecord{c.Stream, c.Created.UTC(), c.StreamSeq, term, c.Fold})
	if err != nil {
		return nil, fmt.Errorf("encode a checkpoint: %w", err)
	}
	return b, nil
}

// DecodeCheckpoint reads the value of a checkpoint's key.
func DecodeCheckpoint(b []byte) (Checkpoint, error) {
	var r checkpointRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return Checkpoint{}, fmt.Errorf("decode a checkpoint: %w", err)
	}
	return Checkpoint{r.Stream, r.Created, r.StreamSeq, r.Fold}, nil
}
