package facts

import (
	"slices"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// step is the content of one step, as far as it goes into its message.
type step struct {
	key     string
	turn    int
	run     string
	ordinal int
	seq     uint64 // of the first content
	eventID string
	begun   bool
	ended   bool
	fact    bool // a message fact said what it holds
	final   bool
	changed bool // since its message was reported
	over    bool // it is longer than a history may be, and not kept
	size    int
	frames  []*frame
	index   map[string]*frame // by id, once there are many
}

// frame is a text, a thought or a tool call.
type frame struct {
	id     string
	kind   reducer.FrameKind
	text   []byte // of a call: its streamed arguments
	callID string
	name   string
	input  reducer.Raw
	blob   *reducer.BlobRef
}

// frame finds a frame by its id.
func (s *step) frame(id string) *frame {
	const few = 32
	if len(s.frames) <= few {
		for _, f := range slices.Backward(s.frames) {
			if f.id == id {
				return f
			}
		}
		return nil
	}
	if len(s.index) != len(s.frames) {
		s.index = make(map[string]*frame, 2*len(s.frames))
		for _, f := range s.frames {
			s.index[f.id] = f
		}
	}
	return s.index[id]
}

// add appends a frame.
func (s *step) add(f *frame) {
	s.frames = append(s.frames, f)
	if s.index != nil {
		s.index[f.id] = f
	}
}

// overhead is what a frame takes beside its text and input.
func (f *frame) overhead() int { return 100 + len(f.id) }

func (s *step) hasCalls() bool {
	return slices.ContainsFunc(s.frames, func(f *frame) bool { return f.kind == reducer.FrameTool })
}

// message is the step as an assistant message. Without anything in it, it has
// no content and no metadata.
func (s *step) message() Fact {
	text, thoughts := s.text(reducer.FrameText), s.text(reducer.FrameThinking)
	f := Fact{
		Kind: Message, Run: s.run, Seq: s.seq, EventID: s.eventID, Step: s.ordinal, StepKey: s.key, Turn: s.turn,
		Role: "assistant", Live: true, RetainIndex: -1, RetainUsers: -1,
	}
	for _, fr := range s.frames {
		if fr.kind == reducer.FrameTool {
			f.Calls = append(f.Calls, MessageCall{ID: fr.callID, Name: fr.name, Args: quote(fr.arguments())})
		}
		if fr.blob != nil {
			f.Blobs = append(f.Blobs, events.Blob{
				Path: "/content", SHA256: fr.blob.SHA256, Size: fr.blob.Size, MediaType: fr.blob.MediaType,
			})
		}
	}
	if text == "" && thoughts == "" && len(f.Calls) == 0 {
		f.Over = s.over
		return f
	}
	f.Content = quote(text)
	switch {
	case len(f.Calls) > 0:
		f.Action = "tool_call"
	case s.final:
		f.Action = "final"
	}
	f.Metadata = metadata(thoughts, f.Calls, f.Action)
	return f
}

// text joins the step's frames of a kind.
func (s *step) text(kind reducer.FrameKind) string {
	var sb strings.Builder
	for _, f := range s.frames {
		if f.kind == kind {
			sb.Write(f.text)
		}
	}
	return sb.String()
}

func (f *frame) arguments() string {
	if len(f.text) > 0 {
		return string(f.text)
	}
	return compact(f.input)
}

func metadata(reasoning string, calls []MessageCall, action string) reducer.Raw {
	dst := []byte{'{'}
	name := func(s string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), s...), '"', ':')
	}
	if reasoning != "" {
		name("reasoning")
		dst = scan.AppendQuote(dst, reasoning)
	}
	if len(calls) > 0 {
		name("tool_calls")
		dst = append(dst, '[')
		for i, c := range calls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = scan.AppendQuote(append(dst, `{"id":`...), c.ID)
			dst = scan.AppendQuote(append(dst, `,"name":`...), c.Name)
			dst = append(append(append(dst, `,"arguments":`...), c.Args...), '}')
		}
		dst = append(dst, ']')
	}
	if action != "" {
		name("action_type")
		dst = scan.AppendQuote(dst, action)
	}
	return reducer.Raw(append(dst, '}'))
}
