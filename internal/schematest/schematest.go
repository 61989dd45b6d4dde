// Package schematest checks JSON against web/contract/schema.json. For tests
// only.
package schematest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is one definition of the contract.
type Schema struct {
	name   string
	schema *jsonschema.Schema
}

// Load compiles a definition: operation, operations, snapshot, page, catchUp,
// dataFrame and so on.
func Load(t testing.TB, name string) *Schema {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(here), "..", "..", "web", "contract", "schema.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json#/$defs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return &Schema{name: name, schema: s}
}

// Validate returns what is wrong with a JSON value, nil when it is as the
// contract has it.
func (s *Schema) Validate(data []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.schema.Validate(v)
}

// Check fails the test when a JSON value is not as the contract has it.
func (s *Schema) Check(t testing.TB, data []byte) {
	t.Helper()
	if err := s.Validate(data); err != nil {
		if len(data) > 4096 {
			data = append(data[:4096:4096], "…"...)
		}
		t.Fatalf("not a valid %s: %v\n%s", s.name, err, data)
	}
}
