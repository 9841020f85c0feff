export interface Values {
  /** The folder of this place alone. */
  readonly folder: string;
  readonly root: string;
  /** This program. */
  readonly bundle: string;
  /** The port of the API server. */
  readonly port: string;
  /** Paths of programs. */
  readonly node: string;
  readonly kubectl: string;
}

/** Puts writes to /etc, /var and the checkout into layers that are gone with the last process that sees them. */
export function setUp({ folder, root }: Values): string {
  return `
set -euo pipefail
mount -t tmpfs tmpfs '${folder}/layers'
layer() {
  mkdir -p '${folder}'/layers/"$1"/{upper,work}
  mount -t overlay overlay -o "lowerdir=$2,upperdir=${folder}/layers/$1/upper,workdir=${folder}/layers/$1/work" "$3"
}
layer etc /etc /etc
layer var /var /var
layer work '${root}' '${folder}/work'
cp '${folder}'/files/* '${folder}/work/'
ln -s '${folder}/work' '${folder}/work/kube-netfilter-tailer'
mkdir -p /etc/modules-load.d /etc/iptables /etc/sysconfig/iptables /etc/nftables.d /etc/cni/net.d
touch /etc/nftables.conf /etc/cni/net.d/10-calico.conflist
mkdir -p /var/lib/kube-netfilter-tailer /var/run/calico
cp samples/policy-deny.log /var/log/kern.log 2> /dev/null || cp '${root}/samples/policy-deny.log' /var/log/kern.log
cp /var/log/kern.log /var/log/kern.log.1
cp /var/log/kern.log /var/log/iptables.log
cp /var/log/kern.log '${folder}/work/kern.log'
gzip -c /var/log/kern.log > /var/log/kern.log.2.gz
# The whole machine has these limits once, and only its first network namespace may see and change them.
limits() {
  mkdir -p '${folder}/layers/limits/'"$1/default"
  for number in 1 2 3; do echo $((number * 1024)) > '${folder}/layers/limits/'"$1/default/gc_thresh$number"; done
  mount --bind '${folder}/layers/limits/'"$1" "/proc/sys/net/$1/neigh"
}
limits ipv4
limits ipv6
switches='${folder}/layers/netfilter'
mkdir -p "$switches/nf_log"
for name in nf_conntrack_count nf_conntrack_buckets nf_log/2 nf_log/10; do cat "/proc/sys/net/netfilter/$name" > "$switches/$name"; done
echo 262144 > "$switches/nf_conntrack_max"
echo 0 > "$switches/nf_log_all_netns"
mount --bind "$switches" /proc/sys/net/netfilter
for device in eth0 eth1; do
  ip link add "$device" type veth peer name "far-$device"
  ip link set "far-$device" up
done
ip address add 192.168.50.12/24 dev eth0
ip address add 10.0.2.8/24 dev eth1
ip address add 10.0.1.7/32 dev lo
ip address add 10.96.0.1/32 dev lo
ip link set eth0 up
ip link set eth1 up
ip route add default via 192.168.50.1
ip neigh add 192.168.50.1 lladdr 02:00:00:00:00:01 dev eth0
ipset create old hash:ip
echo ready
exec cat
`;
}

/** Programs before those of the machine on the PATH. */
export function wrappers({ folder, bundle, port, node, kubectl }: Values): Record<string, string> {
  const program = `'${node}' '${bundle}'`;
  return {
    // Puts back what commands have changed.
    reset: `#!/bin/sh
set -e
rm -f '${folder}/variables'
nft flush ruleset
iptables-nft-restore < '${folder}/bin/rules.iptables'
nft -f '${folder}/bin/rules.nft'
`,
    // Each command line begins with this.
    prelude: `
set -eo pipefail
[ ! -e '${folder}/variables' ] || . '${folder}/variables'
# Nothing found is an answer.
grep() { command grep "$@" || [ $? -eq 1 ]; }
zgrep() { command zgrep "$@" || [ $? -eq 1 ]; }
pgrep() { command pgrep "$@" || [ $? -eq 1 ]; }
sleep() { :; }
`,
    // The Service of the API server, and what listens on a peer.
    'rules.iptables': `
*nat
-A OUTPUT -d 10.96.0.1 -p tcp --dport 443 -j REDIRECT --to-ports ${port}
-A OUTPUT -d 10.0.1.7 -p tcp -m multiport --dports 179,5473 -j REDIRECT --to-ports ${port}
COMMIT
*filter
:OWN-DROP - [0:0]
-A INPUT -s 192.0.2.9 -j DROP
-A FORWARD -s 192.0.2.9 -j DROP
COMMIT
`,
    'rules.nft': `
table inet filter {
  chain input { type filter hook input priority 10; ip saddr 192.0.2.9 drop; }
  chain forward { type filter hook forward priority 10; ip saddr 192.0.2.9 drop; }
}
table ip kube-proxy {
  chain services { }
}
table inet firewalld {
  chain filter_FORWARD { }
}
`,
    'kube-netfilter-tailer': `#!/bin/sh\nexec ${program} "$@"\n`,
    // npm does what scripts/start.mjs does when all is installed, and nothing else.
    npm: `#!/bin/sh
[ "$1" = start ] || { echo "npm: only start is played: $*" >&2; exit 64; }
shift
[ "\${1:-}" = --silent ] && shift
if [ $# -eq 0 ]; then exec ${program} replay --pods samples/cluster.json --now 2026-11-21T20:00:00Z samples/*.log; fi
[ "$1" = -- ] || { echo "npm: without -- before them the arguments are npm's own: $*" >&2; exit 64; }
shift
exec ${program} "$@"
`,
    node: `#!/bin/sh\nexec '${node}' "$@"\n`,
    ssh: `#!/bin/sh\n[ "\${1#root@}" = node-b ] || { echo "ssh: no host $1" >&2; exit 255; }\nshift\nexec "$@"\n`,
    // No kubelet is here. When it is all that is missing, what would be run in the container is run on the node instead; a Pod for debugging
    // would be waited for without end.
    kubectl: `#!/bin/sh
errors=$(mktemp)
[ "$1" != debug ] || limit='timeout 2'
$limit '${kubectl}' "$@" 2> "$errors"
status=$?
if [ "$status" -eq 124 ] || grep -q 'dial tcp 127.0.0.1:1: connect: connection refused' "$errors"; then
  while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
  if [ "\${2:-}" = chroot ]; then shift 2; cat "$errors" >&2; fi
  [ $# -gt 1 ] || exit 0
  shift
  exec "$@"
fi
cat "$errors" >&2
exit $status
`,
  };
}
