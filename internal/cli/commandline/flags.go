package commandline

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/pflag"
)

// bounded is a whole number of a range; an upper end of 0 is none.
type bounded struct {
	to       *int
	min, max int
}

// Count declares a flag for a positive number.
func Count(flags *pflag.FlagSet, to *int, name, usage string) {
	flags.Var(&bounded{to, 1, 0}, name, usage)
}

// Range declares a flag for a number from low to high.
func Range(flags *pflag.FlagSet, to *int, name string, low, high int, usage string) {
	flags.Var(&bounded{to, low, high}, name, usage)
}

// String implements pflag.Value.
func (b *bounded) String() string {
	if b.to == nil {
		return "0"
	}
	return strconv.Itoa(*b.to)
}

// Type implements pflag.Value.
func (b *bounded) Type() string { return "int" }

// Set implements pflag.Value.
func (b *bounded) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < b.min || b.max > 0 && n > b.max {
		return b.rangeError()
	}
	*b.to = n
	return nil
}

func (b *bounded) rangeError() error {
	if b.max > 0 {
		return fmt.Errorf("must be a number from %d to %d", b.min, b.max)
	}
	return errors.New("must be a positive number")
}

// address is a URL that a client can connect to.
type address struct{ to *string }

// URL declares a flag for the URL of a server, http, https or a Unix socket.
func URL(flags *pflag.FlagSet, to *string, name, usage string) {
	flags.Var(&address{to}, name, usage)
}

// String implements pflag.Value.
func (a *address) String() string {
	if a.to == nil {
		return ""
	}
	return *a.to
}

// Type implements pflag.Value.
func (a *address) Type() string { return "string" }

// Set implements pflag.Value. A scheme is required: without one, a mistyped name would be looked up as a host's.
func (a *address) Set(text string) error {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"http", "https", "unix", "unixs"}, u.Scheme) || u.Host+u.Path == "" {
		return errors.New("is not a URL such as https://127.0.0.1:2379")
	}
	*a.to = text
	return nil
}
