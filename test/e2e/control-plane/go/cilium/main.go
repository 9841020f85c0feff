// Reads the setting hubble-export-allowlist as a cilium-agent reads it, and prints its filters as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/cilium/cilium/pkg/hubble"
)

func main() {
	filters, err := hubble.ParseFlowFilters(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(filters)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
