package redact

import "errors"

// Error returns err with the secrets taken out of its text. It is still what
// it was for [errors.Is] and [errors.As]. Where its text holds none it is err
// itself.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := r.String(text)
	if clean == text {
		return err
	}
	return &cleanError{text: clean, is: func(target error) bool { return errors.Is(err, target) }, as: func(target any) bool { return errors.As(err, target) }}
}

// cleanError keeps the error it stands for in closures: Unwrap, or a field,
// would have it printed.
type cleanError struct {
	text string
	is   func(error) bool
	as   func(any) bool
}

func (e *cleanError) Error() string        { return e.text }
func (e *cleanError) Is(target error) bool { return e.is(target) }
func (e *cleanError) As(target any) bool   { return e.as(target) }
