package main

import (
	"context"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/util/flushwriter"
	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/logs"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
)

func (folder containers) serveLogs(w http.ResponseWriter, r *http.Request) {
	var asked corev1.PodLogOptions
	if err := legacyscheme.ParameterCodec.DecodeParameters(r.URL.Query(), corev1.SchemeGroupVersion, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	found, id, err := folder.of(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if asked.Previous {
		http.Error(w, "logs of earlier containers are not kept", http.StatusBadRequest)
		return
	}
	writer := flushwriter.Wrap(w)
	if err := logs.ReadLogs(r.Context(), found.Log, id, readOptions(asked), runtime{folder: folder}, writer, writer); err != nil && r.Context().Err() == nil {
		_, _ = io.WriteString(writer, err.Error()+"\n")
	}
}

func readOptions(asked corev1.PodLogOptions) *logs.LogOptions {
	options := logs.LogOptions{
		TailLines: asked.TailLines, LimitBytes: asked.LimitBytes, Follow: asked.Follow, Timestamp: asked.Timestamps,
	}
	if asked.SinceSeconds != nil {
		options.Since = time.Now().Add(-time.Duration(*asked.SinceSeconds) * time.Second)
	} else if asked.SinceTime != nil {
		options.Since = asked.SinceTime.Time
	}
	return &options
}

// runtime answers the one question that following a log asks: whether its container still runs.
type runtime struct {
	cri.RuntimeService
	folder containers
}

func (r runtime) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	state := runtimeapi.ContainerState_CONTAINER_EXITED
	if found, err := r.folder.byID(id); err == nil && found.Running {
		state = runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: id, State: state}}, nil
}
