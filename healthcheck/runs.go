package healthcheck

// Runs reports whether a profile is to run: enabled is what channel.yaml says,
// wanted what people last said by start or stop, suspended what an
// administrator said. All three are needed, and none of them wins over
// another: a start does not run what its file turns off or an administrator
// suspended.
func Runs(enabled, wanted, suspended bool) bool { return enabled && wanted && !suspended }

// Resting is the reason to stop a profile for which [Runs] is false, the
// weightiest first: what only an administrator can undo, then the file, then a
// person. Of a profile that runs it is "".
func Resting(enabled, wanted, suspended bool) Reason {
	switch {
	case suspended:
		return Suspended
	case !enabled:
		return Reload
	case !wanted:
		return Operator
	}
	return ""
}
