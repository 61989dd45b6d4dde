package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// growing is a session log that a test writes, record by record.
type growing struct {
	t       *testing.T
	path    string
	session string
	f       *os.File
	n       int
	at      map[string]time.Time // token of a record: when it was written
	order   []string
}

func newGrowing(t *testing.T, session string) *growing {
	t.Helper()
	path := t.TempDir() + "/" + session + ".jsonl"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &growing{t: t, path: path, session: session, f: f, at: make(map[string]time.Time)}
}

// write appends one record: a prompt every fifth time, else an answer with a
// text, a tool call, its result, a text.
func (g *growing) write() string {
	g.t.Helper()
	g.n++
	token := fmt.Sprintf("record-%04d-end", g.n)
	head := fmt.Sprintf(`"uuid":"u%d","sessionId":"%s","timestamp":"2026-01-01T00:%02d:%02d.000Z","cwd":"/w","version":"2.1.0"`, g.n, g.session, g.n/60, g.n%60)
	var body string
	switch g.n % 5 {
	case 1:
		body = fmt.Sprintf(`{"type":"user",%s,"promptId":"p%d","message":{"content":"prompt %s"}}`, head, g.n, token)
	case 3:
		body = fmt.Sprintf(`{"type":"assistant",%s,"message":{"id":"m%d","model":"m","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"%s"}}]}}`, head, g.n/5, g.n, token)
	case 4:
		body = fmt.Sprintf(`{"type":"user",%s,"message":{"content":[{"type":"tool_result","tool_use_id":"c%d","content":"out %s"}]}}`, head, g.n-1, token)
	default:
		body = fmt.Sprintf(`{"type":"assistant",%s,"message":{"id":"m%d-%d","model":"m","usage":{"input_tokens":1,"output_tokens":1},"content":[{"type":"text","text":"text %s"}]}}`, head, g.n/5, g.n%5, token)
	}
	if _, err := g.f.WriteString(body + "\n"); err != nil {
		g.t.Fatal(err)
	}
	g.at[token] = time.Now()
	g.order = append(g.order, token)
	return token
}

// check holds a screen against the records: each once, in their order.
func (g *growing) check(screen string) {
	g.t.Helper()
	last := -1
	for _, token := range g.order {
		if n := strings.Count(screen, token); n != 1 {
			g.t.Errorf("%s is on the screen %d times", token, n)
		}
		at := strings.Index(screen, token)
		if at < last {
			g.t.Errorf("%s is out of order", token)
		}
		last = at
	}
	if g.t.Failed() {
		g.t.Logf("the screen:\n%s", screen)
	}
}

// delays is how long records took to the screen.
func (g *growing) delays(screen *proc, tokens []string) []time.Duration {
	g.t.Helper()
	var all []time.Duration
	for _, token := range tokens {
		all = append(all, screen.shows(token).Sub(g.at[token]))
	}
	slices.Sort(all)
	return all
}
