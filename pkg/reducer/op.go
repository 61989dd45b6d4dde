package reducer

// OpKind names one of the 14 operations.
type OpKind string

// The operations; all but append are idempotent.
const (
	OpReset             OpKind = "reset"
	OpTurnUpsert        OpKind = "turn.upsert"
	OpStepUpsert        OpKind = "step.upsert"
	OpFrameUpsert       OpKind = "frame.upsert"
	OpAppend            OpKind = "append"
	OpMarkerUpsert      OpKind = "marker.upsert"
	OpTaskRefUpsert     OpKind = "taskref.upsert"
	OpTaskUpsert        OpKind = "task.upsert"
	OpInteractionUpsert OpKind = "interaction.upsert"
	OpAttachmentUpsert  OpKind = "attachment.upsert"
	OpTodoUpsert        OpKind = "todo.upsert"
	OpPromptUpsert      OpKind = "prompt.upsert"
	OpMetaMerge         OpKind = "meta.merge"
	OpItemsRemove       OpKind = "items.remove"
)

// Op is one operation: a union by Kind. Only the fields of that kind are set.
// What an Op points to is immutable once the Op has been handed out.
type Op struct {
	Kind OpKind

	AgentID  string    // reset
	Snapshot *Snapshot // reset

	Turn *Turn // turn.upsert, header only

	TurnID string // step.upsert, frame.upsert
	StepID string // frame.upsert
	Step   *Step  // step.upsert, header only
	Frame  *Frame // frame.upsert

	Target Target // append
	Offset int    // append: UTF-16 code units
	Text   string // append

	Marker     *Marker  // marker.upsert
	TaskRef    *TaskRef // taskref.upsert
	BeforeTurn Opt[int] // marker.upsert, taskref.upsert

	Task        *Task
	Interaction *Interaction
	Attachment  *Attachment
	Todo        *Todo
	Prompt      *Prompt
	Meta        *MetaPatch
	IDs         []string // items.remove
}

// Target is what an append grows: a text or thinking frame, with InputText the
// streamed arguments of a tool frame, or (TaskID set) a task's output tail.
type Target struct {
	TurnID, StepID, FrameID string
	InputText               bool
	TaskID                  string
}

// Gap reports an append that did not fit; the local text is never rewritten.
// Lengths are UTF-16 code units.
type Gap struct {
	Target        Target
	Expected, Got int
}

// Result is what Apply did: Accepted lists the indices of the operations that
// changed state, Gap is the last append that did not fit or nil.
type Result struct {
	Accepted []int
	Gap      *Gap
}
