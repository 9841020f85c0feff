#!/usr/bin/env bash
# Shows one real drop on kind: makes a cluster with Calico and this agent, has a NetworkPolicy deny a connection, and prints the Event.
# docs/networks/kind.md says what it does step by step.
set -euo pipefail
cd "$(dirname "$0")/.."

name=kube-netfilter-tailer-try
image=localhost/kube-netfilter-tailer:try
calico=${CALICO_MANIFEST:-https://raw.githubusercontent.com/projectcalico/calico/v3.31.4/manifests/calico.yaml}

usage() {
  cat << END
Usage: deploy/try-on-kind.sh [--delete]

Shows one real drop on kind: makes the cluster $name with Calico and this agent, has a NetworkPolicy deny a connection, and prints
the Event. Takes about five minutes and 4 GB of memory. A second run keeps the cluster.

Needs bash, docker, kind, kubectl, and the internet, for kind's node image, Calico's images and the bases of the agent's image.

It changes one setting of the machine that runs the nodes: net.netfilter.nf_log_all_netns becomes 1, because the kernel does not
log packets in containers otherwise.

  --delete   deletes the cluster, and sets nf_log_all_netns to 0

CALICO_MANIFEST names another manifest of Calico: a file or a URL. Default:
$calico

Exit status: 0 if the Event was written, 1 if a step failed, 2 if the arguments are wrong or a program is missing.
END
}

# step TEXT: announces a step.
step() { echo "==> $1" >&2; }

fail() {
  echo "try-on-kind.sh: $1" >&2
  exit "${2:-1}"
}

delete=false
case "${1:-}" in
  '') ;;
  --delete) delete=true ;;
  -h | --help) usage && exit ;;
  *) fail "$1 is not an option: see --help" 2 ;;
esac
[ $# -le 1 ] || fail "$2 is one argument too many: see --help" 2
for program in docker kind kubectl; do
  command -v "$program" > /dev/null || fail "$program is missing: see --help" 2
done

kubectl() { command kubectl --context "kind-$name" "$@"; }
exists() { kind get clusters 2> /dev/null | grep -qx "$name"; }

# set_all_netns VALUE: sets it in the machine's own network namespace, from a container of kind's node image.
set_all_netns() {
  local node_image
  node_image=$(docker inspect --format '{{.Image}}' "$name-control-plane")
  docker run --rm --privileged --network host --entrypoint sysctl "$node_image" -qw "net.netfilter.nf_log_all_netns=$1"
}

if $delete; then
  exists || fail "cluster $name does not exist"
  step 'nf_log_all_netns becomes 0'
  set_all_netns 0
  exec kind delete cluster --name "$name"
fi

if exists; then
  step "cluster $name exists"
else
  step "cluster $name, without kind's own network plug-in"
  kind create cluster --name "$name" --config - << 'END'
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking: {disableDefaultCNI: true, podSubnet: 192.168.0.0/16}
nodes: [{role: control-plane}, {role: worker}]
END
fi

step "Calico: $calico"
kubectl apply --server-side --force-conflicts -f "$calico" > /dev/null
kubectl -n kube-system rollout status daemonset/calico-node --timeout=10m
kubectl wait --for=condition=Ready nodes --all --timeout=5m
# Calico makes it when it starts.
kubectl wait --for=create felixconfigurations.crd.projectcalico.org/default --timeout=2m

step 'what policies deny is logged: nf_log_all_netns becomes 1, and two policies of Calico log before they deny'
set_all_netns 1
kubectl patch felixconfigurations.crd.projectcalico.org default --type=merge \
  --patch-file deploy/logging/calico/felix-configuration.patch.yaml
kubectl apply -f deploy/logging/calico/global-network-policy-crd.yaml

step "the agent's image: $image"
docker build --target plain -t "$image" .
kind load docker-image --name "$name" "$image"

step 'an agent on every node, which reads the ring buffer of the kernel'
kubectl kustomize deploy/overlays/kmsg | sed "s|image: SET-THE-IMAGE:.*|image: $image|" | kubectl apply --server-side -f -
kubectl -n kube-netfilter-tailer rollout restart daemonset/kube-netfilter-tailer
kubectl -n kube-netfilter-tailer rollout status daemonset/kube-netfilter-tailer --timeout=5m

step 'a Pod that a NetworkPolicy isolates, and one that connects to it'
kubectl delete namespace first-drop --ignore-not-found
# The agent's image has Node.js, so no other image is needed.
run="--image=$image --restart=Never --command -- /usr/local/bin/node -e"
kubectl apply -f - << 'END'
apiVersion: v1
kind: Namespace
metadata: {name: first-drop, labels: {log-denied-ingress: ''}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-all, namespace: first-drop}
spec: {podSelector: {}, policyTypes: [Ingress]}
END
# shellcheck disable=SC2086
kubectl -n first-drop run server $run 'require("net").createServer().listen(80)'
kubectl -n first-drop wait --for=condition=Ready pod/server --timeout=2m
server=$(kubectl -n first-drop get pod server -o jsonpath='{.status.podIP}')
# It goes on until it is deleted: Calico may not have programmed the policy when the first packet comes.
# shellcheck disable=SC2086
kubectl -n first-drop run client $run \
  "setInterval(() => require('net').connect(80, '$server').on('error', () => {}).setTimeout(900, function () { this.destroy() }), 1000)"
kubectl -n first-drop wait --for=condition=Ready pod/client --timeout=2m

step 'waiting for the Event'
drops=(get events --field-selector 'reason=PacketDrop,involvedObject.name=server' -o name)
read -r _ < <(timeout 120 kubectl --context "kind-$name" -n first-drop "${drops[@]}" --watch) || {
  kubectl -n kube-netfilter-tailer logs daemonset/kube-netfilter-tailer --tail=20 >&2
  fail 'no Event came within two minutes. The last lines of an agent are above; docs/logging.md has what to check.'
}
kubectl -n first-drop delete pod client --wait=false > /dev/null
kubectl -n first-drop describe pod server | sed -n '/^Events:/,$p'
cat << END

That is what the owner of the Pod sees. Go on in this cluster: kubectl --context kind-$name
Delete it: deploy/try-on-kind.sh --delete
END
