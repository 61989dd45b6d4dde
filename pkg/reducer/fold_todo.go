package reducer

import "github.com/stenohq/steno/pkg/events/scan"

// todoID is the id of the one todo document an agent has.
const todoID = "todo"

// isTodoWrite reports whether a tool call writes the todo document.
func isTodoWrite(name string, input Raw) bool {
	switch name {
	case "TodoList", "TodoWrite", "SetTodoList", "todo_write", "update_plan":
		_, ok := todoItems(input)
		return ok
	}
	return false
}

// todoItems reads the entries out of a tool's input; not ok when there are
// none or one of them is invalid.
func todoItems(input Raw) ([]TodoItem, bool) {
	if scan.KindOf([]byte(input)) != scan.Object {
		return nil, false
	}
	list, ok := scan.Get([]byte(input), "todos")
	if !ok || scan.IsNull(list) {
		list, ok = scan.Get([]byte(input), "plan")
	}
	if !ok || scan.KindOf(list) != scan.Array {
		return nil, false
	}
	items := []TodoItem{}
	a := scan.ArrayOf(list)
	for a.Next() {
		item, ok := todoItem(a.Value())
		if !ok {
			return nil, false
		}
		items = append(items, item)
	}
	return items, true
}

// todoItem reads one entry: its title stands in title, content or step.
func todoItem(raw []byte) (item TodoItem, ok bool) {
	if scan.KindOf(raw) != scan.Object {
		return item, false
	}
	titled := false
	for _, name := range [...]string{"title", "content", "step"} {
		if v, found := scan.Get(raw, name); found && !scan.IsNull(v) {
			item.Title, titled = foldString(v)
			break
		}
	}
	status, _ := scan.Get(raw, "status")
	s, _ := foldString(status)
	item.Status, ok = todoStatus(s)
	return item, ok && titled
}

// todoStatus maps the statuses that tools use to the closed set.
func todoStatus(s string) (string, bool) {
	switch s {
	case "pending", "in_progress", "done":
		return s, true
	case "completed":
		return "done", true
	}
	return "", false
}

// todoUpdated folds todo.updated. A malformed entry is left out.
func (f *Fold) todoUpdated(p *foldPayload) {
	if !p.has("items") {
		p.bad("items", "is missing")
		return
	}
	elements, ok := p.list("items")
	if !ok {
		return
	}
	items := []TodoItem{}
	for _, raw := range elements {
		item, ok := todoItem(raw)
		if !ok {
			p.bad("items[]", "should be an object with a title and a status pending, in_progress or done")
			continue
		}
		items = append(items, item)
	}
	f.putTodo(items)
}

// putTodo replaces the todo document.
func (f *Fold) putTodo(items []TodoItem) {
	todo := &Todo{TodoID: todoID, Items: items, UpdatedAt: f.now()}
	f.todo = todo
	f.resize(&f.todoSize, f.jsonSize(todo))
	f.push(OpTodoUpsert).Todo = todo
}
