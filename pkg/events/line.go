package events

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// The lines of wire.jsonl, without their newline. FORMAT.md is the
// specification.

// Position is where a stored message stands.
type Position struct {
	Seq       uint64 // ordinal in the agent log, from 1
	StreamSeq uint64 // sequence in the stream
	StoredAt  int64  // Unix milliseconds
}

// LineHash is the SHA-256 of a line, without its newline. Each line holds that
// of the line before it.
type LineHash [sha256.Size]byte

// HashLine returns the hash that the next line holds.
func HashLine(line []byte) LineHash { return sha256.Sum256(line) }

func (h LineHash) String() string { return hex.EncodeToString(h[:]) }

// ParseLineHash is the inverse of LineHash.String.
func ParseLineHash(s string) (LineHash, error) {
	var h LineHash
	if len(s) != 2*len(h) || !isSHA256(s) {
		return h, fieldError("h", "want 64 lower-case hex digits")
	}
	_, err := hex.Decode(h[:], []byte(s))
	return h, err
}

// LineKind tells the lines of an archive apart.
type LineKind int

// The kinds of lines.
const (
	LineEvent    LineKind = iota // a stored event
	LineInvalid                  // a stored message that is no valid event
	LineLost                     // seq to seq_to were destroyed
	LineMetadata                 // the first line of a part
)

// Line is one parsed line. Data is a copy that the caller owns; Reason may
// alias the line.
type Line struct {
	Kind LineKind
	Position
	SeqTo  uint64   // lost: the last one; else equal to Seq
	Prev   LineHash // of the line before
	Data   []byte   // event, invalid: the message
	Reason string   // invalid
}

// AppendEventLine appends the line of a stored event: msg, which Decode
// accepts, with the position and prev as its last four members.
func AppendEventLine(dst, msg []byte, pos Position, prev LineHash) []byte {
	start := len(dst)
	dst = append(dst, scan.Trim(msg)...)
	flatten(dst[start:])
	dst[len(dst)-1] = ',' // was the closing brace; an event has members before it
	dst = appendPosition(dst, pos)
	return append(appendHash(dst, "h", prev), '}')
}

// AppendInvalidLine appends the line of a stored message that Decode refuses
// for the reason given.
func AppendInvalidLine(dst, msg []byte, reason string, pos Position, prev LineHash) []byte {
	dst = appendPosition(append(dst, `{"type":"invalid",`...), pos)
	dst = appendHash(dst, "h", prev)
	dst = scan.AppendQuote(append(dst, `,"reason":`...), reason)
	dst = append(dst, `,"raw":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, msg)
	return append(dst, `"}`...)
}

// AppendLostLine appends the line that stands for the messages seq to seqTo,
// which cannot be had again.
func AppendLostLine(dst []byte, seq, seqTo uint64, prev LineHash) []byte {
	dst = strconv.AppendUint(append(dst, `{"type":"lost","seq":`...), seq, 10)
	dst = strconv.AppendUint(append(dst, `,"seq_to":`...), seqTo, 10)
	return append(appendHash(dst, "h", prev), '}')
}

func appendPosition(dst []byte, pos Position) []byte {
	dst = strconv.AppendUint(append(dst, `"seq":`...), pos.Seq, 10)
	dst = strconv.AppendUint(append(dst, `,"stream_seq":`...), pos.StreamSeq, 10)
	dst = AppendTime(append(dst, `,"stored_at":"`...), pos.StoredAt)
	return append(dst, '"')
}

func appendHash(dst []byte, name string, h LineHash) []byte {
	dst = append(append(append(dst, ',', '"'), name...), `":"`...)
	return append(hex.AppendEncode(dst, h[:]), '"')
}

// placeholder is the message that a restore or repair stores in the place of a
// lost one, so that sequence numbers stay.
const placeholder = `{"type":"lost"}`

// Placeholder returns the message that stands for a lost one.
func Placeholder() []byte { return []byte(placeholder) }

// IsPlaceholder recognises it. A reader treats it as a lost line of one
// message.
func IsPlaceholder(msg []byte) bool { return string(msg) == placeholder }
