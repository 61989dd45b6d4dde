package resume

import "strings"

// Policy decides whether a tool call whose outcome is unknown may be made
// again without asking a person, by the name of the tool.
type Policy func(tool string) bool

// readOnly are the tools that change nothing, by their lower-case names.
var readOnly = [...]string{"read", "grep", "glob", "ls", "list", "search", "webfetch", "websearch"}

// Allow returns the default policy: an allow list of read-only tools, and of
// those named. An unknown tool is not replayable. Case does not matter.
func Allow(tools ...string) Policy {
	return func(tool string) bool {
		for _, name := range readOnly {
			if strings.EqualFold(name, tool) {
				return true
			}
		}
		for _, name := range tools {
			if strings.EqualFold(name, tool) {
				return true
			}
		}
		return false
	}
}

// SeedCompatible is a deny list: everything but Edit, Bash and Task is
// replayable. It suits runtimes whose other tools are known to be harmless.
func SeedCompatible(tool string) bool {
	switch tool {
	case "Edit", "Bash", "Task":
		return false
	}
	return true
}
