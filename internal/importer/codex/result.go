package codex

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events/scan"
)

// result is what a tool call gave.
type result struct {
	output []byte // nil for none
	failed bool
}

func (r result) payload(name string) []byte {
	var p importer.Fields
	p.Str("toolCallId", name).Raw("output", r.output)
	if r.failed {
		p.Bool("isError", true)
	}
	return p.Object()
}

// resultOf reads an output: a string, a list of parts, an object {content,
// success}, or an object in a string that has the output and how it ended.
func resultOf(raw []byte) result {
	if raw == nil || scan.KindOf(raw) == scan.Null {
		return result{output: []byte(`""`)}
	}
	if scan.KindOf(raw) == scan.Object {
		o := importer.ObjectOf(raw)
		if content, ok := o["content"]; ok && o["type"] == nil {
			res := resultOf(content)
			success, told := scan.BoolOf(o["success"])
			res.failed = res.failed || told && !success
			return res
		}
	}
	res := result{output: outputOf(raw)}
	text, ok := scan.Unquote(res.output)
	if !ok {
		return res
	}
	if inner := scan.Trim([]byte(text)); scan.KindOf(inner) == scan.Object && scan.Valid(inner) {
		o := importer.ObjectOf(inner)
		if code, ok := scan.Int64(o.Object("metadata")["exit_code"]); ok && scan.KindOf(o["output"]) == scan.String {
			return result{output: o["output"], failed: code != 0}
		}
	}
	res.failed = failedText(text)
	return res
}

// exitLine is how the shell tools begin what they give back.
var exitLine = regexp.MustCompile(`(?m)^(?:Exit code:|Process exited with code) (-?\d{1,10})\r?$`)

// failedText says whether an output tells that its program failed. The lines
// that do so stand before the program's own output.
func failedText(text string) bool {
	head, _, _ := strings.Cut(text[:min(len(text), 500)], "\nOutput:")
	if m := exitLine.FindStringSubmatch(head); m != nil && (strings.HasPrefix(head, "Exit code:") || strings.HasPrefix(head, "Chunk ID:") || strings.HasPrefix(head, "Wall time:")) {
		code, err := strconv.Atoi(m[1])
		return err != nil || code != 0
	}
	for _, begin := range [...]string{"aborted by user", "execution error:", "exec_command failed", "apply_patch verification failed", "failed to parse function arguments"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}
