package topology

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Difference is one setting that is not as it should be. Setting is its name
// in the server's JSON; Is and Want are its JSON values, "absent" for none.
type Difference struct {
	Object  string // e.g. "stream STENO_EVENTS_0"
	Setting string
	Is      string
	Want    string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s is %s, should be %s", d.Object, d.Setting, d.Is, d.Want)
}

// MismatchError lists everything that differs. Nothing has been changed.
type MismatchError struct {
	Differences []Difference
}

func (e *MismatchError) Error() string {
	var b strings.Builder
	b.WriteString("what exists in JetStream differs from what Steno needs; nothing was changed")
	for _, d := range e.Differences {
		b.WriteString("\n  ")
		b.WriteString(d.String())
	}
	b.WriteString("\nchange these settings (nats stream edit), or use another account or directory")
	return b.String()
}

// notCompared are settings that do not change what Steno relies on.
var notCompared = []string{"description", "metadata", "placement", "first_seq"}

// compare lists how an existing stream differs. All settings are compared by
// their JSON, so one that a later server adds is seen as well. Where a byte
// limit is wanted any limit will do: how much space there is changes.
func compare(is, want jetstream.StreamConfig) ([]Difference, error) {
	have, err := settings(is)
	if err != nil {
		return nil, err
	}
	need, err := settings(want)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for k := range have {
		names[k] = true
	}
	for k := range need {
		names[k] = true
	}
	var diffs []Difference
	for k := range names {
		if slices.Contains(notCompared, k) || bytes.Equal(have[k], need[k]) {
			continue
		}
		if k == "max_bytes" && want.MaxBytes > 0 && is.MaxBytes > 0 {
			continue
		}
		diffs = append(diffs, Difference{Object: "stream " + want.Name, Setting: k, Is: show(have[k]), Want: show(need[k])})
	}
	slices.SortFunc(diffs, func(a, b Difference) int { return strings.Compare(a.Setting, b.Setting) })
	return diffs, nil
}

// settings takes a configuration apart; a false or zero value is absence.
func settings(c jetstream.StreamConfig) (map[string]json.RawMessage, error) {
	c.Subjects = slices.Sorted(slices.Values(c.Subjects))
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the settings of %s: %w", c.Name, err)
	}
	all := make(map[string]json.RawMessage)
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("decode the settings of %s: %w", c.Name, err)
	}
	for k, v := range all {
		switch string(v) {
		case "false", "0", `""`, "null", "{}":
			delete(all, k)
		}
	}
	return all, nil
}

func show(v json.RawMessage) string {
	if v == nil {
		return "absent"
	}
	return string(v)
}
