// Reads cases, one JSON object a line, and prints what the engine of policies of Cilium itself decides: "a" for allowed, "d" for denied. In
// test/explain/policies/cilium/judge:
//
//	go mod tidy
//	node ../questions.ts | go run . | fold -w 100 > ../verdicts.txt
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/cilium/cilium/pkg/crypto/certificatemanager"
	envoypolicy "github.com/cilium/cilium/pkg/envoy/policy"
	"github.com/cilium/cilium/pkg/identity"
	"github.com/cilium/cilium/pkg/identity/identitymanager"
	v2 "github.com/cilium/cilium/pkg/k8s/apis/cilium.io/v2"
	"github.com/cilium/cilium/pkg/labels"
	"github.com/cilium/cilium/pkg/option"
	"github.com/cilium/cilium/pkg/policy"
	"github.com/cilium/cilium/pkg/policy/api"
	"github.com/cilium/cilium/pkg/policy/types"
	policyutils "github.com/cilium/cilium/pkg/policy/utils"
	testcm "github.com/cilium/cilium/pkg/testutils/certificatemanager"
	testpolicy "github.com/cilium/cilium/pkg/testutils/policy"
	"github.com/cilium/cilium/pkg/u8proto"
)

type end struct {
	Labels map[string]string `json:"labels"`
	// Reserved is an entity: host, remote-node, world.
	Reserved string `json:"reserved"`
	Cidr     string `json:"cidr"`
}

type question struct {
	Policies  []json.RawMessage `json:"policies"`
	From, To  end
	Protocol  string            `json:"protocol"`
	Port      uint16            `json:"port"`
	Direction string            `json:"direction"`
	NamedPort map[string]uint16 `json:"namedPorts"`
}

func main() {
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	option.Config.EnableIPv4 = true
	option.Config.EnableICMPRules = true
	option.Config.EnableL7Proxy = true
	api.InitEntities("default")
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		fmt.Print(answer(logger, asked))
	}
	fmt.Println()
}

func answer(logger *slog.Logger, asked question) string {
	from, to := identityOf(asked.From, 1001), identityOf(asked.To, 1002)
	ids := identity.IdentityMap{from.ID: from.LabelArray, to.ID: to.LabelArray}
	idmgr := identitymanager.NewIDManager(logger)
	repo := policy.NewPolicyRepository(logger, ids, &testcm.Fake{}, envoypolicy.NewEnvoyL7RulesTranslator(logger, certificatemanager.NewMockSecretManagerInline()), idmgr, testpolicy.NewPolicyMetricsNoop())
	repo.GetSelectorCache().SetLocalIdentityNotifier(notifier{})
	wg := &sync.WaitGroup{}
	repo.GetSubjectSelectorCache().UpdateIdentities(ids, nil, wg)
	wg.Wait()
	for _, raw := range asked.Policies {
		cnp := &v2.CiliumNetworkPolicy{}
		if err := json.Unmarshal(raw, cnp); err != nil {
			panic(err)
		}
		rules, err := cnp.Parse(logger, "default")
		if err != nil {
			panic(err)
		}
		repo.MustAddPolicyEntries(policyutils.RulesToPolicyEntries(rules))
	}
	proto, err := u8proto.ParseProtocol(strings.ToLower(asked.Protocol))
	if err != nil {
		panic(err)
	}
	flow := types.Flow{From: from, To: to, Proto: proto, Dport: asked.Port, NamedPortsTCP: asked.NamedPort}
	verdict, _, _, err := policy.LookupFlow(logger, repo, idmgr, flow)
	if err != nil {
		panic(err)
	}
	decision := verdict.Ingress
	if asked.Direction == "egress" {
		decision = verdict.Egress
	}
	return decision.String()[:1]
}

type notifier struct{}

func (notifier) RegisterFQDNSelector(selector api.FQDNSelector) uint64   { return 1 }
func (notifier) UnregisterFQDNSelector(selector api.FQDNSelector) uint64 { return 1 }

func identityOf(of end, id identity.NumericIdentity) *identity.Identity {
	all := labels.Labels{}
	switch {
	case of.Reserved != "":
		all = labels.NewLabelsFromModel([]string{"reserved:" + of.Reserved})
		id = identity.GetReservedID(of.Reserved)
	case of.Cidr != "":
		all = labels.GetCIDRLabels(netip.MustParsePrefix(of.Cidr))
		id = identity.IdentityScopeLocal | id
	default:
		for key, value := range of.Labels {
			label := labels.NewLabel(key, value, labels.LabelSourceK8s)
			all[key] = label
		}
	}
	return identity.NewIdentity(id, all)
}
