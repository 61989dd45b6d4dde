package slots

import (
	"hash/fnv"
	"strconv"
)

// Assign names the member that a slot belongs to: the one with the highest
// score for it (rendezvous hashing), so that a member that comes or goes moves
// only its own share. "" when there are no members.
func Assign(role string, slot int, members []string) string {
	var best string
	var top uint64
	for _, name := range members {
		h := score(role, slot, name)
		if best == "" || h > top || h == top && name < best {
			best, top = name, h
		}
	}
	return best
}

func score(role string, slot int, member string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(role + "/" + strconv.Itoa(slot) + "/" + member)) // never fails
	// FNV's high bits hardly depend on the last bytes; spread them.
	x := h.Sum64()
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
