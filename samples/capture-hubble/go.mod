module kube-netfilter-tailer/samples/capture-hubble

go 1.26.0

require github.com/cilium/cilium v1.20.2
