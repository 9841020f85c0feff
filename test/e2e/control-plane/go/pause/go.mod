module kube-netfilter-tailer/e2e/pause

go 1.26.0
