package events

// Validate checks what a publisher should keep beyond what Decode needs to be
// safe. Ingest and the SDK refuse an event that fails; one that is stored all
// the same counts, and readers treat the field as absent. The error is a
// *FieldError.
func (e *Event) Validate() error {
	if _, ok := e.Time(); !ok && e.Timestamp != "" {
		return fieldError("timestamp", "want RFC 3339, such as "+TimeFormat)
	}
	if e.N > 0 && e.RunID == "" {
		return fieldError("n", "counts within a run, but run_id is missing")
	}
	if e.SourceRun != "" && e.RunID == "" {
		return fieldError("source_run", "belongs to an import, but run_id is missing")
	}
	if _, err := e.BlobList(); err != nil {
		return err
	}
	_, err := e.LabelMap()
	return err
}
