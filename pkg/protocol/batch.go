package protocol

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// Batch is what one or more neighbouring messages of an agent log did to the
// transcript, at some grade. PrevSeq is the Seq of the batch before it in that
// grade's sequence, 0 for the first.
type Batch struct {
	Seq, PrevSeq uint64
	Ops          []reducer.Op
}

// AppendJSON appends the batch as the catch-up route gives it.
func (b *Batch) AppendJSON(dst []byte) []byte {
	dst = putUint(append(dst, '{'), "seq", b.Seq)
	dst = putUint(dst, "prev_seq", b.PrevSeq)
	dst = append(dst, `"ops":`...)
	return append(reducer.AppendOps(dst, b.Ops), '}')
}

// DecodeBatch reads what AppendJSON writes. A batch of a server that does not
// send prev_seq follows the one numbered before it.
func DecodeBatch(data []byte) (Batch, error) {
	r := newDeepReader("batch", data)
	b := Batch{Seq: r.uint("seq"), Ops: r.ops("ops")}
	b.PrevSeq = r.prevSeq(b.Seq)
	return b, r.err
}

// CatchUp is the answer of the catch-up route: the batches behind a cursor.
type CatchUp struct {
	AgentID   string
	Batches   []Batch
	LatestSeq uint64 // end of the log
	Complete  bool   // false: the cursor cannot be continued from, load a page
	HasMore   bool   // ask again behind the last batch
	Epoch     string
}

// AppendJSON appends the answer.
func (c *CatchUp) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, '{'), "agent_id", c.AgentID)
	dst = append(dst, `"batches":[`...)
	for i := range c.Batches {
		dst = append(c.Batches[i].AppendJSON(dst), ',')
	}
	dst = append(closed(dst, ']'), ',')
	dst = putUint(dst, "latest_seq", c.LatestSeq)
	dst = putBool(dst, "complete", c.Complete)
	dst = putBool(dst, "has_more", c.HasMore)
	return closed(putText(dst, "epoch", c.Epoch), '}')
}

// DecodeCatchUp reads what AppendJSON writes.
func DecodeCatchUp(data []byte) (CatchUp, error) {
	r := newDeepReader("catch-up", data)
	c := CatchUp{
		AgentID: r.text("agent_id"), LatestSeq: r.uint("latest_seq"),
		Complete: r.bool("complete"), HasMore: r.bool("has_more"), Epoch: r.text("epoch"),
	}
	r.each("batches", func(v []byte) error {
		b, err := DecodeBatch(v)
		c.Batches = append(c.Batches, b)
		return err
	})
	return c, r.err
}

// The writers append members with a comma behind each; closed turns the last
// comma into the bracket.

func closed(b []byte, bracket byte) []byte {
	if b[len(b)-1] == ',' {
		b[len(b)-1] = bracket
		return b
	}
	return append(b, bracket)
}

func putName(b []byte, key string) []byte {
	b = append(append(b, '"'), key...)
	return append(b, '"', ':')
}

func putText(b []byte, key, v string) []byte {
	return append(scan.AppendQuote(putName(b, key), v), ',')
}

func putUint(b []byte, key string, v uint64) []byte {
	return append(strconv.AppendUint(putName(b, key), v, 10), ',')
}

func putBool(b []byte, key string, v bool) []byte {
	return append(strconv.AppendBool(putName(b, key), v), ',')
}

func putTexts(b []byte, key string, v []string) []byte {
	b = append(putName(b, key), '[')
	for _, s := range v {
		b = append(scan.AppendQuote(b, s), ',')
	}
	return append(closed(b, ']'), ',')
}
