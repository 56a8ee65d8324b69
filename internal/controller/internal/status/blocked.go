package status

// Blocked is what keeps a controller from the next step for now. A nil *Blocked means that nothing does.
type Blocked struct {
	// Reason is one word, as in a condition.
	Reason string
	// Message says what blocks and why.
	Message string
	// Hint says what a person can do about it; often it is nothing but to wait.
	Hint string
}

// String is message and hint.
func (b *Blocked) String() string {
	if b.Hint == "" {
		return b.Message
	}
	return b.Message + "; " + b.Hint
}

// FirstOf makes the checks in order and returns what blocks first; nil where all pass.
func FirstOf(checks ...func() *Blocked) *Blocked {
	for _, check := range checks {
		if b := check(); b != nil {
			return b
		}
	}
	return nil
}
