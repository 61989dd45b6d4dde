// Package protocol is what gateways and clients say to each other: frames,
// pages, cursors, the rule by which a client merges history with live batches,
// and the merge of batches for clients that fell behind. The package has no
// clock, no randomness, no I/O.
package protocol

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strconv"
)

// Epoch names one numbering of a session's agent logs. Cursors of different
// epochs have nothing to do with each other. It changes with the topology (a
// rebuilt log), with the session's incarnation (forgotten and begun anew) and
// with the version of the fold.
func Epoch(topologyID, session string, incarnation uint64, foldVersion int) string {
	h := sha256.New()
	for _, s := range []string{topologyID, session, strconv.FormatUint(incarnation, 10)} {
		// Lengths keep ("ab", "c") and ("a", "bc") apart.
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	sum := h.Sum(nil)[:10]
	return lowerBase32().EncodeToString(sum) + "." + strconv.Itoa(foldVersion)
}

func lowerBase32() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}
