package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// As long as the kubelet leaves a stream that nothing goes through, and waits for all streams to be opened.
const (
	idleTimeout     = 4 * time.Hour
	creationTimeout = 30 * time.Second
)

func (folder containers) serveExec(w http.ResponseWriter, r *http.Request) {
	found, id, err := folder.of(r)
	if err == nil && !found.Running {
		err = errors.New("the container does not run")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, prefix(found.Exec), id, "", r.PathValue("container"), r.URL.Query()["command"],
		options, idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

// prefix begins each command; without a terminal, even if one was asked for.
type prefix []string

func (p prefix) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errOut io.WriteCloser,
	_ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	all := append(append([]string{}, p...), command...)
	process := exec.CommandContext(ctx, all[0], all[1:]...)
	process.Stdout, process.Stderr = writer(out), writer(errOut)
	if in != nil {
		// Not as Stdin: Wait would wait until the other side closes it.
		pipe, err := process.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(pipe, in)
			_ = pipe.Close()
		}()
	}
	err := process.Run()
	var exited *exec.ExitError
	if errors.As(err, &exited) && exited.Exited() {
		return utilexec.CodeExitError{Err: err, Code: exited.ExitCode()}
	}
	return err
}

// A nil WriteCloser must not become an io.Writer that is not nil.
func writer(stream io.WriteCloser) io.Writer {
	if stream == nil {
		return nil
	}
	return stream
}
