package statestore

import (
	"strconv"
	"strings"
)

// The roles that own slots.
const (
	RoleRecorder  = "recorder"
	RoleProjector = "projector"
)

// The prefixes of keys.
const (
	TopologyKey  = "topology"
	PrefixTerm   = "term"
	PrefixOwn    = "own"
	PrefixCkpt   = "ckpt"
	PrefixHead   = "head"
	PrefixMemory = "mem"
	PrefixResume = "resume"
	PrefixIndex  = "index"
)

// Limits of one commit.
const (
	MaxMessages = 1000
	MaxBytes    = 8 << 20
	// PieceSize is the size above which a document is split.
	PieceSize = 512 << 10
)

// TermKey is the key that says who owns a slot.
func TermKey(role string, slot int) string { return slotKey(PrefixTerm, role, slot) }

// OwnKey is the key of the commit id of the owner's last commit.
func OwnKey(role string, slot int) string { return slotKey(PrefixOwn, role, slot) }

// CheckpointKey is the key of a slot's checkpoint.
func CheckpointKey(role string, slot int) string { return slotKey(PrefixCkpt, role, slot) }

// AgentKey is a key of one agent, e.g. head.<slot>.<session>.<agent>. session
// and agent are tokens.
func AgentKey(prefix string, slot int, session, agent string) string {
	return prefix + "." + strconv.Itoa(slot) + "." + session + "." + agent
}

// IndexKey is the key of a session's row in the session list.
func IndexKey(session string) string { return PrefixIndex + "." + session }

func slotKey(prefix, role string, slot int) string {
	return prefix + "." + role + "." + strconv.Itoa(slot)
}

// IsDocument tells whether the values of a key are stored compressed and split
// into pieces.
func IsDocument(key string) bool {
	switch prefix, _, _ := strings.Cut(key, "."); prefix {
	case PrefixHead, PrefixMemory, PrefixResume:
		return true
	}
	return false
}

// Matches tells whether List and Watch of prefix yield key.
func Matches(prefix, key string) bool {
	rest, ok := strings.CutPrefix(key, prefix)
	return ok && (rest == "" || rest[0] == '.')
}
