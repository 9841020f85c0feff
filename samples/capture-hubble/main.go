// Prints flows with the exporter of Cilium's Hubble itself. It reads one flow a line, as the JSON of Protocol Buffers; a line that begins
// with "lost " is of lost events. In samples/capture-hubble:
//
//	go mod tidy
//	node flows.ts | go run . ../hubble-flows.log
//
// FIELD_MASK and AGGREGATE are lists of fields, with commas, as in hubble.export.
package main

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	flowpb "github.com/cilium/cilium/api/v1/flow"
	v1 "github.com/cilium/cilium/pkg/hubble/api/v1"
	"github.com/cilium/cilium/pkg/hubble/exporter"
	nodeTypes "github.com/cilium/cilium/pkg/node/types"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func main() {
	nodeTypes.SetName("node-b")
	file := exporter.FileWriterConfig{Filename: os.Args[1], MaxSize: exporter.DefaultFileMaxSizeMB, MaxBackups: exporter.DefaultFileMaxBackups}
	options := []exporter.Option{exporter.WithNewWriterFunc(exporter.FileWriter(file))}
	if mask := os.Getenv("FIELD_MASK"); mask != "" {
		options = append(options, exporter.WithFieldMask(strings.Split(mask, ",")))
	}
	if fields := os.Getenv("AGGREGATE"); fields != "" {
		options = append(options, exporter.WithFieldAggregate(strings.Split(fields, ",")), exporter.WithAggregationInterval(time.Minute))
	}
	ex, err := exporter.NewExporter(slog.New(slog.DiscardHandler), options...)
	check(err)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		check(ex.Export(context.Background(), eventOf(lines.Text())))
	}
	check(lines.Err())
	check(ex.Stop())
}

func eventOf(line string) *v1.Event {
	if lost, found := strings.CutPrefix(line, "lost "); found {
		event := &flowpb.LostEvent{}
		read(lost, event)
		return &v1.Event{Timestamp: timestamppb.New(time.Date(2026, 11, 21, 13, 45, 40, 0, time.UTC)), Event: event}
	}
	flow := &flowpb.Flow{}
	read(line, flow)
	return &v1.Event{Timestamp: flow.Time, Event: flow}
}

func read(text string, message proto.Message) {
	check(protojson.Unmarshal([]byte(text), message))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
