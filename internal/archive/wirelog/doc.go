// Package wirelog keeps agent logs as files: one directory an agent, one line
// a stored message, chained by hashes. README.md is the format, the crash
// model and the list of limits.
//
// Dir is the writing side of one data directory: it opens agents (repairing
// what a crash or a disk left behind) and makes their lines durable in groups.
// Reader implements archive.Reader over the same files, in any process, while
// they are written. Verify proves what a directory holds.
package wirelog

import (
	"errors"

	"github.com/stenohq/steno/pkg/events"
)

// Format is the value of the metadata line's field of that name.
const Format = "steno.wire/1"

// Limits.
const (
	// MaxMessage is the longest stored message that can be written. It is far
	// above the stream's own limit of 1 MiB.
	MaxMessage = 8 << 20
	// MaxLine bounds one line, and so the memory of a reader; what is longer
	// is damage.
	MaxLine = MaxMessage/3*4 + 64<<10
	// PartSize is the size above which a part is finished, by default.
	PartSize = 64 << 20
)

// Errors wrapped by what this package returns; test with errors.Is.
var (
	// ErrDiskFull: no space is left. Nothing of what was to be written is lost:
	// the same call succeeds when there is space again.
	ErrDiskFull = errors.New("no space left on the disk")
	// ErrChanged: the file is not as this process left it. Open the agent anew.
	ErrChanged = errors.New("the file was changed by somebody else")
	// ErrForeign: the directory holds the log of another agent, as happens on
	// file systems that do not tell upper from lower case.
	ErrForeign = errors.New("the directory belongs to another agent")
	// ErrLocked: another process writes this directory.
	ErrLocked = errors.New("the directory is in use by another process")
	// ErrOtherLog: the stream was made anew, but not from this archive.
	ErrOtherLog = errors.New("the stream was not made from this archive")
	// ErrTooLarge: the message is above MaxMessage.
	ErrTooLarge = errors.New("message is too large for the archive")
	// ErrClosed: the Dir has been closed.
	ErrClosed = errors.New("archive is closed")
	// ErrFormat: the line or file is not of this format, or of a later version.
	ErrFormat = errors.New("not a line of " + Format)
)

// sessionsDir and agentsDir are the fixed parts of an agent's path.
const (
	sessionsDir = "sessions"
	agentsDir   = "agents"
	openFile    = "wire.jsonl"
)

// agentDir is the directory of an agent's log, relative to the data directory.
// Ids are safe in paths by their alphabet; "." and ".." are refused by Parse.
func agentDir(s events.SessionID, a events.AgentID) (string, error) {
	if _, err := events.ParseSessionID(string(s)); err != nil {
		return "", err
	}
	if _, err := events.ParseAgentID(string(a)); err != nil {
		return "", err
	}
	return sessionsDir + "/" + string(s) + "/" + agentsDir + "/" + string(a), nil
}
