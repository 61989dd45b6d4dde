package reducer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Every field of every entity is in the fold's state: each entity is filled by
// reflection, coded both ways and compared.
func TestFoldCoderKnowsEveryField(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		code  func(*foldCoder, any)
		skip  []string
	}{
		{"Turn", &Turn{}, func(c *foldCoder, v any) { c.turn(v.(*Turn)) }, []string{"Steps", "HasMoreSteps"}},
		{"Step", &Step{}, func(c *foldCoder, v any) { c.step(v.(*Step)) }, []string{"Frames"}},
		{"Frame text", &Frame{Kind: FrameText}, func(c *foldCoder, v any) { c.frame(v.(*Frame)) }, notIn("Kind FrameID Text Role AttachmentIDs TextBlob TaskID")},
		{"Frame tool", &Frame{Kind: FrameTool}, func(c *foldCoder, v any) { c.frame(v.(*Frame)) }, notIn("Kind FrameID TaskID ToolCallID Name View State Input Output Display Error InputText Progress ApprovalID TodoID AgentRefs InputBlob OutputBlob")},
		{"Frame notice", &Frame{Kind: FrameNotice}, func(c *foldCoder, v any) { c.frame(v.(*Frame)) }, notIn("Kind FrameID Level Source Message Detail")},
		{"Marker", &Marker{}, func(c *foldCoder, v any) { c.marker(v.(*Marker)) }, nil},
		{"TaskRef", &TaskRef{}, func(c *foldCoder, v any) { c.taskRef(v.(*TaskRef)) }, nil},
		{"Task", &Task{}, func(c *foldCoder, v any) { c.task(v.(*Task)) }, nil},
		{"Interaction", &Interaction{}, func(c *foldCoder, v any) { c.interaction(v.(*Interaction)) }, nil},
		{"Attachment", &Attachment{}, func(c *foldCoder, v any) { c.attachment(v.(*Attachment)) }, nil},
		{"Todo", &Todo{}, func(c *foldCoder, v any) { c.todoDoc(v.(*Todo)) }, nil},
		{"Prompt", &Prompt{}, func(c *foldCoder, v any) { c.prompt(v.(*Prompt)) }, nil},
		{"Meta", &Meta{}, func(c *foldCoder, v any) { c.metaData(v.(*Meta)) }, nil},
		{"AgentDescriptor", &AgentDescriptor{}, func(c *foldCoder, v any) { c.descriptor(v.(*AgentDescriptor)) }, nil},
		{"Stats", &Stats{}, func(c *foldCoder, v any) { c.statsData(v.(*Stats)) }, []string{"RunningTurns", "RunningTools", "Pending"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			v := reflect.ValueOf(c.value).Elem()
			for f, part := range v.Fields() {
				if !slices.Contains(c.skip, f.Name) && (f.Name != "Kind" || part.IsZero()) {
					fill(part, &n)
				}
			}
			enc := foldCoder{}
			c.code(&enc, c.value)
			got := reflect.New(v.Type()).Interface()
			dec := foldCoder{decode: true, r: string(enc.w)}
			c.code(&dec, got)
			if dec.bad || dec.r != "" || !reflect.DeepEqual(got, c.value) {
				t.Errorf("coded both ways\n%+v\nis\n%+v", c.value, got)
			}
			for i := range enc.w { // a cut never panics and is noticed
				cut := foldCoder{decode: true, r: string(enc.w[:i])}
				c.code(&cut, reflect.New(v.Type()).Interface())
				if !cut.bad {
					t.Fatalf("the first %d bytes decode", i)
				}
			}
		})
	}
}

// fill gives every part of a value something that is not zero.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("v%d", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Struct:
		for _, part := range v.Fields() {
			fill(part, n)
		}
	default:
		panic("cannot fill " + v.Kind().String())
	}
}

// notIn lists the fields of Frame but those named.
func notIn(names string) (skip []string) {
	for f := range reflect.TypeFor[Frame]().Fields() {
		if !slices.Contains(strings.Fields(names), f.Name) {
			skip = append(skip, f.Name)
		}
	}
	return skip
}
