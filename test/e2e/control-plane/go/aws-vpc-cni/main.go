// Stands in for the parts of an EKS node besides the plug-in and the network policy agent: ipamd, which gives Pods
// their addresses, and EC2's metadata service. Reads the data of both as JSON on standard input. Logs a line when all
// of it listens, and runs until it is killed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/aws/amazon-vpc-cni-k8s/rpc"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

type node struct {
	rpc.UnimplementedCNIBackendServer
	rpc.UnimplementedConfigServerBackendServer
	// Paths below /latest/meta-data/.
	Metadata map[string]string
	// By NAMESPACE/NAME.
	Pods map[string]pod
}

type pod struct {
	Address string
	// "standard": without policies a Pod may do all; "strict": nothing.
	Mode string
}

func main() {
	var here node
	must(json.NewDecoder(os.Stdin).Decode(&here))
	ipamd := grpc.NewServer()
	rpc.RegisterCNIBackendServer(ipamd, &here)
	rpc.RegisterConfigServerBackendServer(ipamd, &here)
	// The plug-in looks for the first, the network policy agent for the second.
	go serve(ipamd.Serve, listen("tcp", "127.0.0.1:50051"))
	go serve(ipamd.Serve, listen("unix", "/var/run/aws-node/ipamd.sock"))
	metadata := listen("tcp", "169.254.169.254:80")
	log.Print("ready")
	serve(func(at net.Listener) error { return http.Serve(at, &here) }, metadata)
}

// AddNetwork gives a Pod its address.
func (here *node) AddNetwork(_ context.Context, request *rpc.AddNetworkRequest) (*rpc.AddNetworkReply, error) {
	name := request.K8S_POD_NAMESPACE + "/" + request.K8S_POD_NAME
	pod, isKnown := here.Pods[name]
	if !isKnown {
		return nil, fmt.Errorf("no address for %s", name)
	}
	given := &rpc.IPAllocationMetadata{IPv4Addr: pod.Address}
	if strings.Contains(pod.Address, ":") {
		given = &rpc.IPAllocationMetadata{IPv6Addr: pod.Address}
	}
	return &rpc.AddNetworkReply{
		Success:              true,
		IPAllocationMetadata: []*rpc.IPAllocationMetadata{given},
		NetworkPolicyMode:    pod.Mode,
	}, nil
}

// GetNetworkPolicyConfigs gives the mode for Pods that were there before the network policy agent.
func (here *node) GetNetworkPolicyConfigs(context.Context, *emptypb.Empty) (*rpc.NetworkPolicyAgentConfigReply, error) {
	return &rpc.NetworkPolicyAgentConfigReply{NetworkPolicyMode: "standard"}, nil
}

// ServeHTTP answers as version 2 of the metadata service, which wants a token first.
func (here *node) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	if request.URL.Path == "/latest/api/token" {
		answer.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		fmt.Fprint(answer, "token")
		return
	}
	value, isKnown := here.Metadata[strings.TrimPrefix(request.URL.Path, "/latest/meta-data/")]
	if !isKnown {
		http.NotFound(answer, request)
		return
	}
	fmt.Fprint(answer, value)
}

func listen(network, address string) net.Listener {
	listener, err := net.Listen(network, address)
	must(err)
	return listener
}

func serve(with func(net.Listener) error, at net.Listener) {
	must(with(at))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
