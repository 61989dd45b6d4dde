package importer

import (
	"fmt"
	"strings"

	"github.com/stenohq/steno/pkg/events"
)

// SessionNamed makes a session id of a file's name, for formats whose records
// name none.
func SessionNamed(name string) (events.SessionID, error) {
	id := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			return c
		}
		return '-'
	}, name)
	session, err := events.ParseSessionID(id[:min(len(id), events.MaxID)])
	if err != nil {
		return "", fmt.Errorf("make a session id of the name %.200q: %w; give one with --session", name, err)
	}
	return session, nil
}
