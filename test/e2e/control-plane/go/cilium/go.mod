module kube-netfilter-tailer/e2e/cilium

go 1.26.6

require github.com/cilium/cilium v1.20.2

require google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af // indirect
