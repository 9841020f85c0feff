// Package metrics stands in for a package that aws-ebpf-sdk-go has since 1.0.16. It counts how often the kernel was
// asked again to load a program.
package metrics

func ProgLoadEAGAINRetries() uint64 { return 0 }

func ProgLoadEAGAINExhausted() uint64 { return 0 }
