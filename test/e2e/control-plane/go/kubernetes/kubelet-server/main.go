// The part of a kubelet's HTTPS API that `kubectl logs` and `kubectl exec` use, for containers that something else runs. Requests are
// read, and logs and streams served, by the libraries of the kubelet itself.
//
//	kubelet-server CONTAINERS CLIENT_CERTIFICATE
//
// CONTAINERS has a file NAMESPACE_POD_CONTAINER.json for each container that runs or has run:
//
//	{"log": "/…/0.log", "running": true, "exec": ["runc", "exec", "ID"]}
//
// where `exec` begins a command within the container. Who shows another client certificate than the first of CLIENT_CERTIFICATE (PEM) is
// refused. Prints the port on 127.0.0.1 when it listens, and ends with its standard input.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/util/cert"
)

type container struct {
	Log     string   `json:"log"`
	Running bool     `json:"running"`
	Exec    []string `json:"exec"`
}

// containers is the folder of their descriptions.
type containers string

func (folder containers) of(r *http.Request) (container, string, error) {
	parts := []string{r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")}
	id := strings.Join(parts, "_")
	if strings.ContainsAny(id, `/\`) {
		return container{}, id, fmt.Errorf("%q is no name of a container", id)
	}
	found, err := folder.byID(id)
	return found, id, err
}

func (folder containers) byID(id string) (found container, err error) {
	description, err := os.ReadFile(filepath.Join(string(folder), id+".json"))
	if err != nil {
		return found, fmt.Errorf("there is no container %s: %w", id, err)
	}
	return found, json.Unmarshal(description, &found)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: kubelet-server CONTAINERS CLIENT_CERTIFICATE")
	}
	config, err := tlsConfig(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	folder := containers(os.Args[1])
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", folder.serveLogs)
	// SPDY begins with POST, WebSocket with GET.
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", folder.serveExec)
	// HTTP/1.1 only: streams take the connection over.
	server := http.Server{Handler: mux, TLSConfig: config, TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.ServeTLS(listener, "", ""))
}

func tlsConfig(clientCertificate string) (*tls.Config, error) {
	text, err := os.ReadFile(clientCertificate)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no certificate in PEM", clientCertificate)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}
	own, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own},
		ClientAuth:   tls.RequireAnyClientCert,
		VerifyPeerCertificate: func(shown [][]byte, _ [][]*x509.Certificate) error {
			if !bytes.Equal(shown[0], block.Bytes) {
				return errors.New("not the API server's certificate")
			}
			return nil
		},
	}, nil
}
