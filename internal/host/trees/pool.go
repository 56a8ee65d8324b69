package trees

import "sync"

// pool runs tasks that may submit further ones. The newest task goes first, so a walk is
// depth first and holds few folders open.
type pool struct {
	mu      sync.Mutex
	wake    *sync.Cond
	stack   []task
	pending int // queued or running
	err     error
}

// task does its work, or with failed only releases what it holds.
type task func(failed bool) error

func newPool() *pool {
	p := &pool{}
	p.wake = sync.NewCond(&p.mu)
	return p
}

func (p *pool) submit(t task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending++
	p.stack = append(p.stack, t)
	p.wake.Signal()
}

// run works until no task is left and returns the first error.
func (p *pool) run(workers int) error {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(p.runTasks)
	}
	wg.Wait()
	return p.err
}

func (p *pool) runTasks() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.pending > 0 {
		if len(p.stack) == 0 {
			p.wake.Wait()
			continue
		}
		last := len(p.stack) - 1
		t := p.stack[last]
		p.stack[last] = nil
		p.stack = p.stack[:last]
		failed := p.err != nil
		p.mu.Unlock()
		err := t(failed)
		p.mu.Lock()
		if err != nil && p.err == nil {
			p.err = err
		}
		p.pending--
		if p.pending == 0 {
			p.wake.Broadcast()
		}
	}
}
