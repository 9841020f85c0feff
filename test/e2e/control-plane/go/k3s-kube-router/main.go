// Runs the network policy controller of k3s's kube-router alone, as k3s does within its own process. The flags are kube-router's.
package main

import (
	"flag"
	"sync"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	klog.InitFlags(nil)
	config := options.NewKubeRouterConfig()
	config.AddFlags(pflag.CommandLine)
	pflag.Parse()
	must(flag.Set("v", config.VLevel))

	access, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	must(err)
	client, err := kubernetes.NewForConfig(access)
	must(err)
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	end := make(chan struct{})
	factory.Start(end)
	factory.WaitForCacheSync(end)

	iptables, sets, err := netpol.NewIPTablesHandlers(config)
	must(err)
	controller, err := netpol.NewNetworkPolicyController(
		client, config, pods, policies, namespaces, &sync.Mutex{}, nil, iptables, sets)
	must(err)
	_, err = pods.AddEventHandler(controller.PodEventHandler)
	must(err)
	_, err = namespaces.AddEventHandler(controller.NamespaceEventHandler)
	must(err)
	_, err = policies.AddEventHandler(controller.NetworkPolicyEventHandler)
	must(err)

	// Nobody asks for its health.
	beats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range beats {
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	controller.Run(beats, end, &running)
}

func must(err error) {
	if err != nil {
		klog.Fatal(err)
	}
}
