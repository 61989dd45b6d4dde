package events

import "strconv"

// FieldError says which field of an envelope or payload is wrong and how. For
// a nested one Field is a path such as "blobs[0].sha256".
type FieldError struct {
	Field   string
	Problem string // completes "field X …", such as "want a string, got a number"
	err     error
}

func (e *FieldError) Error() string { return "field " + strconv.Quote(e.Field) + ": " + e.Problem }

// Unwrap returns the sentinel behind the error, nil when there is none.
func (e *FieldError) Unwrap() error { return e.err }

func fieldError(field, problem string) error { return &FieldError{Field: field, Problem: problem} }
