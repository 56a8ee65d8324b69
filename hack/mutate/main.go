// Command mutate asks what the tests prove: it breaks the product in one place at a time, runs the tests that
// should notice, and prints which mutants lived. The tree is not changed (go test -overlay).
//
//	go run ./hack/mutate                                    the chosen mutants
//	go run ./hack/mutate -random 40 -seed 7 ./internal/flow random ones in covered code of these packages
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"
)

type options struct {
	random  int
	seed    uint64
	match   string
	timeout time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.random, "random", 0, "how many random mutants to make in the packages named; 0 runs the chosen ones")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the random choice")
	flag.StringVar(&o.match, "match", "", "of the chosen mutants, run those whose file or name contains this")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "limit for the tests of one mutant; a mutant that reaches it is killed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, patterns []string) error {
	mutants, err := choose(ctx, o, patterns)
	if err != nil {
		return err
	}
	var lived []mutant
	for _, m := range mutants {
		began := time.Now()
		v := try(ctx, m, o.timeout)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		fmt.Printf("| %-7s | %-70s | %s | %3.0f s |\n", v, m.place(), m.name, time.Since(began).Seconds())
		if v == survived {
			lived = append(lived, m)
		}
	}
	fmt.Printf("%d mutants, %d lived\n", len(mutants), len(lived))
	if len(lived) > 0 {
		return errors.New("no test proves what the mutants that lived have broken")
	}
	return nil
}

// choose lists the mutants to try.
func choose(ctx context.Context, o options, patterns []string) ([]mutant, error) {
	if o.random > 0 {
		if len(patterns) == 0 {
			return nil, errors.New("random mutants need packages, such as ./internal/flow")
		}
		return randomMutants(ctx, newRand(o.seed), o.random, patterns)
	}
	var out []mutant
	for _, c := range chosen {
		if !strings.Contains(c.file+" "+c.name, o.match) {
			continue
		}
		m, err := c.mutant()
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
