package importer

import "github.com/stenohq/steno/pkg/events"

// maxFindings bounds each list of a report; the counts go on.
const maxFindings = 1000

// Finding is something about one line that a person may want to look at.
type Finding struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Report says what became of a file. Lists hold the first 1,000 entries.
type Report struct {
	Path    string           `json:"path,omitempty"`
	Format  string           `json:"format"`
	Session events.SessionID `json:"session_id,omitempty"`
	RunID   string           `json:"run_id,omitempty"` // of the file's own agent

	Bytes   int64                     `json:"bytes"`
	Lines   int                       `json:"lines"`
	Records int                       `json:"records"`
	Repeats int                       `json:"repeats,omitempty"` // records that stood in the file before
	Events  int                       `json:"events"`
	Agents  map[events.AgentID]uint64 `json:"agents,omitempty"` // events of each agent log
	Passed  map[string]int            `json:"passed_through,omitempty"`

	Skipped     int       `json:"skipped"`
	SkippedList []Finding `json:"skipped_lines,omitempty"`
	Mended      int       `json:"mended,omitempty"`
	MendedList  []Finding `json:"mended_lines,omitempty"`
	Held        []Finding `json:"held,omitempty"`       // records that wait for another one
	Unfinished  int       `json:"unfinished,omitempty"` // bytes of an incomplete last line
}

// Clean says whether every line was used.
func (r *Report) Clean() bool { return r.Skipped == 0 && len(r.Held) == 0 }

func (r *Report) skip(line int, reason string) {
	r.Skipped++
	if len(r.SkippedList) < maxFindings {
		r.SkippedList = append(r.SkippedList, Finding{Line: line, Reason: reason})
	}
}

// maxPassed bounds the names of Passed: they come from the file.
const maxPassed = 1000

func (r *Report) pass(kind string) {
	if r.Passed == nil {
		r.Passed = make(map[string]int)
	}
	if _, known := r.Passed[kind]; !known && len(r.Passed) >= maxPassed {
		kind = "other"
	}
	r.Passed[kind]++
}

func (r *Report) mend(line int, reason string) {
	r.Mended++
	if len(r.MendedList) < maxFindings {
		r.MendedList = append(r.MendedList, Finding{Line: line, Reason: reason})
	}
}
