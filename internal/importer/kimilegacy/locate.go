package kimilegacy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// Locate implements importer.Format: <session>/wire.jsonl, a sub-agent's at
// <session>/subagents/<agent>/wire.jsonl. A file that lies elsewhere is a
// session named after it, without .wire or .context.
func (Format) Locate(path string) (importer.Source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return importer.Source{}, fmt.Errorf("find out where the file lies: %w", err)
	}
	dir, base := filepath.Dir(abs), filepath.Base(abs)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if isContext(name) {
		twin := filepath.Join(dir, strings.TrimSuffix(name, "context")+"wire.jsonl")
		if info, err := os.Stat(twin); err == nil && info.Size() > 0 {
			return importer.Source{}, fmt.Errorf("%w: %s tells more", importer.ErrTwin, filepath.Base(twin))
		}
	}
	if name != "wire" && name != "context" {
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".wire"), ".context")
		session, err := importer.SessionNamed(name)
		return importer.Source{Name: string(session), Session: session, Agent: events.MainAgent}, err
	}
	if filepath.Base(filepath.Dir(dir)) == "subagents" {
		agent, err := events.ParseAgentID(filepath.Base(dir))
		session, sessionErr := events.ParseSessionID(filepath.Base(filepath.Dir(filepath.Dir(dir))))
		if err == nil && sessionErr == nil {
			return importer.Source{
				Name: string(session), Session: session, Agent: agent, Spawn: importer.Spawn{Parent: events.MainAgent},
			}, nil
		}
	}
	session, err := importer.SessionNamed(filepath.Base(dir))
	return importer.Source{Name: string(session), Session: session, Agent: events.MainAgent}, err
}

func isContext(name string) bool { return name == "context" || strings.HasSuffix(name, ".context") }
