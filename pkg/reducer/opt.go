package reducer

// Opt is an optional scalar of an entity. The wire contract distinguishes
// absence from the zero value (an empty string, 0 and false are values), so
// the zero Opt is absence and Some(zero) is a value. Opt is comparable: two
// entities are equal by value with ==.
type Opt[T comparable] struct {
	V   T
	Set bool
}

// Some returns a present value.
func Some[T comparable](v T) Opt[T] { return Opt[T]{V: v, Set: true} }

// Or returns the value, or other when it is absent.
func (o Opt[T]) Or(other T) T {
	if o.Set {
		return o.V
	}
	return other
}

// IsZero reports absence.
func (o Opt[T]) IsZero() bool { return !o.Set }

// Raw is one opaque JSON value kept byte for byte. The empty Raw is absence.
// It is a string because an opaque value is immutable and compared by its
// bytes: a 20-digit integer or 1e400 is neither rounded nor rejected.
type Raw string
