package bringup

import "context"

type reporterKey struct{}

// WithReporter has the waits of a step report what they still miss, each time a try has failed.
func WithReporter(ctx context.Context, report func(missing string)) context.Context {
	return context.WithValue(ctx, reporterKey{}, report)
}

// reportMissing reports, unless the wait is being stopped: then the error is about that.
func reportMissing(ctx context.Context, err error) {
	if report, ok := ctx.Value(reporterKey{}).(func(string)); ok && err != nil && ctx.Err() == nil {
		report(err.Error())
	}
}
