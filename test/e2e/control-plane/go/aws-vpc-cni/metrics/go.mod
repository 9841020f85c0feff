module github.com/aws/aws-ebpf-sdk-go/pkg/metrics

go 1.26.0
