package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
)

// choice is a mutant made by hand: in the function, the text becomes another one.
type choice struct {
	file, function string
	from, to       string
	name           string // what the mutant breaks
	tests          string // a -run pattern of the package's tests
}

// chosen breaks promises that no compiler and no ordinary test notices: each is one that has once lived.
var chosen = []choice{
	{file: "internal/host/files/write.go", function: "writeReplacement", tests: "PowerCut",
		name: "a written file is not flushed", from: "return file.Sync()", to: "return nil"},
	{file: "internal/host/files/write.go", function: "appendRecord", tests: "PowerCut",
		name: "an appended record is not flushed", from: "return file.Sync()", to: "return nil"},
	{file: "internal/host/files/write.go", function: "WriteFrom", tests: "PowerCut",
		name: "the folder is not flushed after a rename", from: "err := syncFolder(dir)", to: "err := error(nil)"},
	{file: "internal/host/files/write.go", function: "Append", tests: "PowerCut",
		name: "the folder of a new journal is not flushed", from: "err := syncFolder(dir)", to: "err := error(nil)"},
	{file: "internal/host/files/remove.go", function: "removeTree", tests: "PowerCut",
		name: "the folder is not flushed after a removal", from: "err := syncFolder(dir)", to: "err := error(nil)"},
	{file: "internal/host/files/resolve.go", function: "openFolder", tests: "PowerCut",
		name: "the folder of a new folder is not flushed", from: "err := syncFolder(dir)", to: "err := error(nil)"},
	{file: "internal/host/trees/trees.go", function: "Sync", tests: "PowerCut",
		name: "Sync does nothing", from: "err := unix.Syncfs(int(file.Fd()))", to: "err := error(nil)"},
	{file: "internal/host/trees/mark.go", function: "finishPass", tests: "PowerCut",
		name: "the mark goes before the data is flushed", from: "err := unix.Syncfs(m.dst)", to: "err := error(nil)"},
	{file: "internal/host/trees/mark.go", function: "finishPass", tests: "PowerCut",
		name: "the mark comes back after a power cut", from: "return unix.Fsync(m.dst)", to: "return nil"},
	{file: "internal/host/trees/mark.go", function: "beginPass", tests: "PowerCut",
		name: "the mark is not durable before the first copy", from: "return unix.Fsync(m.dst)", to: "return nil"},
	{file: "internal/host/ostree/change.go", function: "Choose", tests: "PowerCut",
		name: "the new default is not flushed", from: "unix.Sync()\n\tif all", to: "if all"},
	{file: "internal/host/ostree/change.go", function: "Choose", tests: "PowerCut",
		name: "the default of a run that was cut off is not flushed", from: "unix.Sync() //", to: "//"},
	{file: "internal/host/systemd/systemd.go", function: "flushFolder", tests: "PowerCut",
		name: "units enabled in another system are not flushed", from: "unix.Syncfs(int(f.Fd()))", to: `unix.Access("/", 0)`},
	{file: "internal/host/nm/transaction.go", function: "flushSaved", tests: "NewProfile|DNSOrder",
		name: "saved profiles are not flushed", from: "err := n.flushProfiles(files)", to: "err := error(nil)"},
	{file: "internal/host/nm/transaction.go", function: "flushSaved", tests: "DNSOrderAcrossFamilies",
		name: "saved DNS servers are not flushed", from: "err := n.persistGlobal()", to: "err := error(nil)"},
	{file: "internal/host/nm/keyfiles.go", function: "flushRemovals", tests: "PowerCutAfter",
		name: "removed profiles come back after a power cut", from: `n.o.Files.Remove(filepath.Join(dir, ".lca-flush"))`, to: "error(nil)"},
	{file: "internal/host/nm/keyfiles.go", function: "putBack", tests: "PowerCutAfter",
		name: "recovery trusts a text that is not flushed", from: "same && !isFlushable(path)", to: "same"},
	{file: "internal/host/nm/recover.go", function: "undoRecord", tests: "UndoOfAChangeInPlace",
		name: "an undo takes links down", from: "held && n.goBackInPlace(ctx, c, r)", to: "false"},
	{file: "internal/host/etcd/process.go", function: "startProcess", tests: "EndsWithItsKilledParent",
		name: "etcd outlives its parent", from: "Pdeathsig: syscall.SIGTERM", to: "Pdeathsig: 0"},
	{file: "internal/host/etcd/process.go", function: "stop", tests: "CloseReturns",
		name: "Close does not wait for etcd", from: "case <-p.done:", to: "default:"},
	{file: "internal/flow/undo.go", function: "undoStep", tests: "UndoIsJournaled",
		name: "an undo is not journaled before it begins", from: "r.writeIfPossible(mark.withKind(KindUndo))", to: ""},
	{file: "internal/flow/runner.go", function: "handleFailure", tests: "StoppedRun",
		name: "undoing obeys a request to stop", from: "context.WithoutCancel(ctx)", to: "ctx"},
	{file: "internal/flow/step.go", function: "tryStep", tests: "NeverSucceeds",
		name: "the tries of a step are not counted", from: "for n := 1; ; n++ {", to: "for n := 1; ; {"},
	{file: "internal/flow/resume.go", function: "Resume", tests: "ResumeTable",
		name: "an unknown place is continued", from: "return RollBack", to: "return Continue"},
	{file: "internal/stateroot/boot.go", function: "FlipBack", tests: "FlipBackFlushes",
		name: "a rollback flips without a flush", from: "err := trees.Sync(host.DeployDir)", to: "err := error(nil)"},
	{file: "internal/stateroot/seal.go", function: "Seal", tests: "SealFlushes",
		name: "a sealed stateroot is not flushed", from: "err := trees.Sync(host.DeployDir)", to: "err := error(nil)"},
	{file: "internal/ipconfig/change/furnish.go", function: "filterAfter", tests: "TheOverride",
		name: "the node's DNS filter is ignored", from: "return now", to: "return now[:0]"},
	{file: "internal/recert/certs/prove.go", function: "checkReissued", tests: "IsProved|SignsIsProved",
		name: "a signature is not proved", from: "fresh.Signature) != nil:", to: "fresh.Signature) != nil && false:"},
	{file: "internal/recert/certs/extensions.go", function: "rewriteAltNames", tests: "NamesAreNotRepeated",
		name: "a name is repeated", from: "if !slices.ContainsFunc(names,", to: "if true || slices.ContainsFunc(names,"},
	{file: "internal/recert/assemble.go", function: "assembleFiles", tests: "KeepTheirModes",
		name: "a file's mode is lost", from: "[]byte(f.Text), f.Mode}", to: "[]byte(f.Text), 0o600}"},
	{file: "internal/seed/restore/judge.go", function: "openVerifiedImage", tests: "Signature",
		name: "a restore never asks for the signature", from: "if ask.Key == nil {", to: "if true {"},
	{file: "internal/seed/restore/system.go", function: "openImage", tests: "TagMoves",
		name: "an image is opened by its tag", from: "m.request.Digest)", to: "tagOrDigest(m.request.Image))"},
	{file: "internal/seed/image/sign.go", function: "signedBy", tests: "Signature",
		name: "a signature of another image is accepted", from: "s.Critical.Image.Digest == digest", to: "digest != \"\""},
	{file: "internal/seed/image/sign.go", function: "signedBy", tests: "Signature|Signed",
		name: "a signature of another key is accepted", from: "!ecdsa.VerifyASN1(key, sum[:], signature)",
		to: "key == nil && len(sum)+len(signature) == 0"},
	{file: "internal/seed/image/open.go", function: "Open", tests: "OfItsDigest",
		name: "an image of another digest is opened", from: "named && digest != sha256Prefix+asked", to: "named && asked == \"\""},
	{file: "internal/host/registry/repository.go", function: "Manifest", tests: "AnotherDigest",
		name: "a manifest of another digest is read", from: "err == nil && \"sha256:\"+hash != m.Digest", to: "err == nil && hash == \"\""},
	{file: "internal/host/registry/download.go", function: "Read", tests: "OtherContent",
		name: "a blob of another digest is read", from: "have != d.digest", to: "have == \"\""},
	{file: "internal/host/registry/download.go", function: "checkLength", tests: "DescriptorSays",
		name: "a blob of another length is asked for", from: "have >= 0 && have != want", to: "have < -1"},
	{file: "internal/host/archive/entry.go", function: "recordKind", tests: "NothingOutside",
		name: "a folder of an archive may become a link", from: "before && was != kind", to: "before && was == 0"},
	{file: "internal/host/archive/read.go", function: "readRegular", tests: "AnotherSize",
		name: "files of an archive may be endless", from: "u.content < 0", to: "e.size < 0"},
}

// mutant applies the choice; it is an error when the code has moved on.
func (c choice) mutant() (mutant, error) {
	source, err := os.ReadFile(c.file)
	if err != nil {
		return mutant{}, fmt.Errorf("mutant %q: %w", c.name, err)
	}
	start, end, err := functionRange(c.file, source, c.function)
	if err != nil {
		return mutant{}, fmt.Errorf("mutant %q: %w", c.name, err)
	}
	body := source[start:end]
	if n := bytes.Count(body, []byte(c.from)); n != 1 {
		return mutant{}, fmt.Errorf("mutant %q: %s of %s holds %q %d times, want once", c.name, c.function, c.file, c.from, n)
	}
	at := start + bytes.Index(body, []byte(c.from))
	changed := append(append(append([]byte{}, source[:at]...), c.to...), source[at+len(c.from):]...)
	return mutant{
		name: c.name, file: c.file, function: c.function, line: 1 + bytes.Count(source[:at], []byte("\n")),
		source: changed, packages: []string{"./" + path.Dir(c.file)}, tests: c.tests,
	}, nil
}

// functionRange finds a function, or a method of any type, in a file.
func functionRange(file string, source []byte, name string) (start, end int, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return 0, 0, err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return set.Position(f.Pos()).Offset, set.Position(f.End()).Offset, nil
		}
	}
	return 0, 0, fmt.Errorf("%s has no function %s", file, name)
}
