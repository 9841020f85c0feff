#!/usr/bin/env bash
# Captures samples/*.log from a real kernel. See usage() below and README.md.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cases=(policy-deny dns-denied egress-denied ipv6 path-mtu firewalld-reload port-scan reused-address log-only
  host-firewall martian raw-kmsg nflog-ulogd conntrack-full)

usage() {
  cat <<TEXT
Usage: ${0##*/} [--out DIR] [--list] [CASE ...]

Builds two Kubernetes nodes out of network namespaces (Pods on veths named as
Calico names them, VXLAN between the nodes, an outside world behind them),
installs LOG rules of the kinds found in the field, sends real packets, and
writes what the kernel logs to DIR/CASE.log (default: this folder). Without
CASE, all of them:
  ${cases[*]}

The Pods, their addresses and nodes come from cluster.json. The wall-clock
stamps are the kernel's own intervals laid onto 2026-11-21, a day on which
those Pods existed. Host names are node-a and node-b. All else is as printed.

Needs root and Linux >= 4.11. Turns on net.netfilter.nf_log_all_netns, and for
conntrack-full lowers net.netfilter.nf_conntrack_max, both for the whole
machine and put back at the end. All traffic stays in namespaces named knt-*.
TEXT
}

out=$here
chosen=()
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --list) printf '%s\n' "${cases[@]}"; exit 0 ;;
    --out)
      [[ $# -ge 2 ]] || { usage >&2; exit 2; }
      out=$2; shift 2 ;;
    -*) usage >&2; exit 2 ;;
    *)
      [[ " ${cases[*]} " == *" $1 "* ]] || { echo "unknown case: $1" >&2; usage >&2; exit 2; }
      chosen+=("$1"); shift ;;
  esac
done
((${#chosen[@]})) || chosen=("${cases[@]}")

check() {
  if ((EUID)); then echo "Must run as root: it makes network namespaces and reads /dev/kmsg." >&2; exit 1; fi
  [[ -r /dev/kmsg ]] || { echo "Cannot read /dev/kmsg." >&2; exit 1; }
  [[ -w /proc/sys/net/netfilter/nf_log_all_netns ]] || { echo "No nf_log_all_netns: is nf_log_syslog loaded?" >&2; exit 1; }
  PATH=$here/../node_modules/.bin:$PATH node "$here/../test/programs/install.ts" capture || exit 1
}
check

work=$(mktemp -d)
old_all_netns=$(sysctl -n net.netfilter.nf_log_all_netns)
old_conntrack_max=''
reader=''

tear_down() {
  local ns
  while read -r ns _; do
    if [[ $ns == knt-* ]]; then ip netns delete "$ns"; fi
  done < <(ip netns list)
}

clean_up() {
  if [[ -n $reader ]]; then kill "$reader" 2>/dev/null || true; fi
  tear_down
  if [[ -n $old_conntrack_max ]]; then sysctl -qw net.netfilter.nf_conntrack_max="$old_conntrack_max"; fi
  sysctl -qw net.netfilter.nf_log_all_netns="$old_all_netns"
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
tear_down
sysctl -qw net.netfilter.nf_log_all_netns=1

# ── Helpers in Python: what bash cannot do ────────────────────────────────────────────────────────

# One row per Pod with a network of its own: namespace/name, node, host veth, IPv4, IPv6 or "-".
cat >"$work/pods.py" <<'PY'
import hashlib, json, sys
for pod in json.load(open(sys.argv[1]))['items']:
    if pod['kind'] != 'Pod' or pod['spec'].get('hostNetwork'):
        continue
    meta, ips = pod['metadata'], [entry['ip'] for entry in pod['status']['podIPs']]
    veth = 'cali' + hashlib.sha1(f"{meta['namespace']}.{meta['name']}".encode()).hexdigest()[:11]
    print(f"{meta['namespace']}/{meta['name']}", pod['spec']['nodeName'], veth, ips[0], (ips[1:] or ['-'])[0])
PY

# Kernel records on stdin → log lines in the envelope asked for.
cat >"$work/envelope.py" <<'PY'
import hashlib, json, re, sys
from datetime import datetime, timedelta, timezone

shape, host, start, after, pods = sys.argv[1:6]
# A Pod is started on one node; only that node's log tells of it.
elsewhere = {row.split()[2][4:12] for row in open(pods) if row.split()[1] != host}
# Other programs' lines do not belong in the samples: ours have these addresses, devices or words.
ADDRESSES = re.compile(r'(SRC|DST|IPSRC|source|from)[= ](10\.244\.|192\.168\.50\.|203\.0\.113\.|198\.51\.100\.|0\.0\.0\.0 |2001:0db8|fd00:|fe80:|0000:)')
WORDS = re.compile(r'^(ll header|docker0|veth\w+[: ]|cali\w+[: ]|eth0[: ]|vxlan\.calico|netdevice|nf_conntrack|net_ratelimit'
                   r'|TCP: |request_sock|reportgen\[|Code: |IPv[46]: (?!martian)|\w+ \(\w+\): )')
raw = sys.stdin.buffer.read().decode('utf-8', 'backslashreplace')
records = []
for line in raw.split('\n'):
    if line.startswith(' ') and records:
        records[-1][1].append(line)
    elif ';' in line:
        records.append((line, []))
boot = None
first = datetime.fromisoformat(start).replace(tzinfo=timezone.utc)
bootid = hashlib.sha256(('boot ' + host).encode()).hexdigest()[:32]
for line, more in records:
    head, text = line.split(';', 1)
    priority, sequence, micros = (int(field) for field in head.split(',')[:3])
    if sequence <= int(after) or priority >> 3:  # facility 0 is the kernel; others are writers to /dev/kmsg
        continue
    if not (ADDRESSES.search(text) if re.search(r'IN=|martian', text) else WORDS.search(text)):
        continue
    renamed = re.search(r'renamed from tmp(\w+)', text)
    if renamed and renamed[1] in elsewhere:
        continue
    boot = boot or first - timedelta(microseconds=micros)
    wall = boot + timedelta(microseconds=micros)
    text = re.sub(r'\\x([0-9a-f]{2})', lambda m: chr(int(m[1], 16)), text) if shape != 'kmsg' else text
    uptime = f'[{micros // 1000000:5d}.{micros % 1000000:06d}]'
    if shape == 'kmsg':
        print('\n'.join([line, *more]))
    elif shape == 'syslog':
        print(f'{wall:%b} {wall.day:2d} {wall:%H:%M:%S} {host} kernel: {uptime} {text}')
    elif shape == 'rfc3339':
        print(f'{wall.isoformat(timespec="microseconds")} {host} kernel: {uptime} {text}')
    elif shape == 'rfc3339-plain':
        print(f'{wall.isoformat(timespec="microseconds")} {host} kernel: {text}')
    elif shape == 'journal':
        stamp = int(wall.timestamp()) * 1000000 + wall.microsecond
        cursor = f's={bootid[::-1]};i={sequence:x};b={bootid};m={micros + 214:x};t={stamp + 214:x};x={hashlib.sha256(line.encode()).hexdigest()[:16]}'
        # The fields journalctl prints; their order means nothing.
        print(json.dumps({
            '_SOURCE_MONOTONIC_TIMESTAMP': str(micros), '_TRANSPORT': 'kernel', 'PRIORITY': str(priority & 7),
            'SYSLOG_FACILITY': '0', 'SYSLOG_IDENTIFIER': 'kernel', '_BOOT_ID': bootid,
            '_MACHINE_ID': hashlib.sha256(('machine ' + host).encode()).hexdigest()[:32], '_HOSTNAME': host,
            'MESSAGE': text, '__CURSOR': cursor, '__REALTIME_TIMESTAMP': str(stamp + 214),
            '__MONOTONIC_TIMESTAMP': str(micros + 214)}, separators=(',', ':')))
    else:
        sys.exit(f'no such envelope: {shape}')
PY

# ulogd's lines on stdin, their stamps moved so that the first is START.
cat >"$work/restamp.py" <<'PY'
import sys
from datetime import datetime
start, shift = datetime.fromisoformat(sys.argv[1]), None
for line in sys.stdin:
    wall = datetime.strptime(f'{start.year} {line[:15]}', '%Y %b %d %H:%M:%S')
    shift = shift if shift is not None else start - wall
    print(f'{wall + shift:%b} {(wall + shift).day:2d} {wall + shift:%H:%M:%S}{line[15:]}', end='')
PY

# Packets that need a socket bash does not have.
cat >"$work/send.py" <<'PY'
import ctypes, select, socket, struct, sys, time
what, *args = sys.argv[1:]

def address(host, port):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    return family, (host, port, 0, 0) if ':' in host else (host, port)

def dns(name):
    labels = b''.join(bytes([len(part)]) + part.encode() for part in name.split('.'))
    return b'\x1f\x2e\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00' + labels + b'\x00\x00\x01\x00\x01'

if what == 'udp':  # HOST PORT BYTES [SOURCE-PORT] [broadcast]
    family, to = address(args[0], int(args[1]))
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if len(args) > 4:  # no route needed: out by the only device
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, args[4].encode())
    if len(args) > 3:
        sock.bind(('::' if ':' in args[0] else '0.0.0.0', int(args[3])))
    sock.sendto(bytes(int(args[2])), to)
elif what == 'dns':  # SERVER NAME TRIES: as the C library's resolver asks, a new port each time
    for _ in range(int(args[2])):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.sendto(dns(args[1]), (args[0], 53))
        select.select([sock], [], [], 1)
elif what == 'raw':  # HOST PROTOCOL HEX [TTL]
    sock = socket.socket(socket.AF_INET6 if ':' in args[0] else socket.AF_INET, socket.SOCK_RAW, int(args[1]))
    if len(args) > 3:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, int(args[3]))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, int(args[3]))
    sock.sendto(bytes.fromhex(args[2]), (args[0], 0))
elif what == 'ports':  # HOST FIRST LAST: one SYN each
    sockets = []
    for port in range(int(args[1]), int(args[2]) + 1):
        family, to = address(args[0], port)
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.connect_ex(to)
        sockets.append(sock)
        time.sleep(0.002)
elif what == 'flows':  # HOST COUNT SECONDS: UDP from ever new ports
    family, to = address(args[0], 8125)
    for _ in range(int(args[1])):
        sock = socket.socket(family, socket.SOCK_DGRAM)
        try:
            sock.sendto(b'jobs.done:1|c', to)
        except OSError:
            pass  # the table was full
        sock.close()
        time.sleep(float(args[2]) / int(args[1]))
elif what == 'listen':  # HOST PORT SECONDS
    family, to = address(args[0], int(args[1]))
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(to)
    sock.listen()
    time.sleep(float(args[2]))
elif what == 'upload':  # HOST PORT BYTES SECONDS
    family, to = address(args[0], int(args[1]))
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(3)
    sock.connect(to)
    sock.setblocking(False)
    sock.send(bytes(int(args[2])))
    time.sleep(float(args[3]))
elif what == 'spoof':  # SOURCE HOST: UDP with a source address that is not ours
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    payload = struct.pack('!HHHH', 40112, 9000, 28, 0) + bytes(20)
    sock.sendto(struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), 7, 0, 64, 17, 0,
                            socket.inet_aton(args[0]), socket.inet_aton(args[1])) + payload, (args[1], 0))
elif what == 'crash':  # a program that reads address 0, for the kernel's segfault line
    ctypes.CDLL(None).prctl(15, b'reportgen', 0, 0, 0)
    ctypes.string_at(0)
PY
send() { python3 "$work/send.py" "$@"; }

# ── The cluster ───────────────────────────────────────────────────────────────────────────────────

python3 "$work/pods.py" "$here/cluster.json" >"$work/pods"
declare -A node_ip=([node-a]=192.168.50.11 [node-b]=192.168.50.12)
declare -A node_ip6=([node-a]=fd00:192:168:50::11 [node-b]=fd00:192:168:50::12)
declare -A node_nr=([node-a]=0 [node-b]=1)
# Made-up but fixed, like the annotations projectcalico.org/VXLANTunnelMACAddr of cluster.json.
declare -A vtep_mac=([node-a]=66:1d:40:a7:5e:20 [node-b]=66:1d:51:a7:5e:21)
dns_a=kube-system/coredns-7d764666f9-j2xqk
dns_b=kube-system/coredns-7d764666f9-vb6tm
web_a=shop/web-6c8d5f7b94-kx2pv
web_b=shop/web-6c8d5f7b94-8wzqd
web_old=shop/web-5b7c66d8f9-t4nxl
cart_a=shop/cart-79d4c5b6c8-m8rz2
cart_b=shop/cart-79d4c5b6c8-hp6rw
postgres=shop/postgres-0
prometheus=monitoring/prometheus-0
relay=monitoring/alert-relay-7b5c9d8f66-zs9cv
syslog_relay=monitoring/syslog-relay-node-b
netcheck=default/netcheck
mapfile -t workers < <(awk '$1 ~ "^batch/worker-" { print $1 }' "$work/pods")
report=$(awk '$1 ~ "^batch/report-" { print $1 }' "$work/pods")

# field PODNAME COLUMN: 2 node, 3 veth, 4 IPv4, 5 IPv6
field() { awk -v pod="$1" -v column="$2" '$1 == pod { print $column }' "$work/pods"; }
veth() { field "$1" 3; }
ip4() { field "$1" 4; }
ip6() { field "$1" 5; }
on_node() { local node=$1; shift; ip netns exec "knt-$node" "$@"; }
in_pod() { local pod=$1; shift; ip netns exec "knt-$(veth "$pod")" "$@"; }
in_world() { ip netns exec knt-world "$@"; }

quick() { # no waiting for duplicate-address detection
  ip netns exec "$1" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
}

# The switch and router 192.168.50.1, and behind it one machine that is the whole internet.
build_nodes() {
  ip netns add knt-world
  ip netns add knt-far
  quick knt-world; quick knt-far
  in_world sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
  ip -n knt-world link add lan type bridge mcast_snooping 1
  ip -n knt-world link set lan up
  ip -n knt-world address add 192.168.50.1/24 dev lan
  ip -n knt-world address add fd00:192:168:50::1/64 dev lan nodad
  ip -n knt-world link add far type veth peer name eth0 netns knt-far
  ip -n knt-world address add 198.51.100.1/24 dev far
  ip -n knt-world address add 2001:db8:0:40::1/64 dev far nodad
  ip -n knt-world link set far up
  ip -n knt-far address add 198.51.100.40/24 dev eth0
  ip -n knt-far address add 203.0.113.80/32 dev lo
  ip -n knt-far address add 2001:db8:0:40::40/64 dev eth0 nodad
  ip -n knt-far link set lo up
  ip -n knt-far link set eth0 up
  ip -n knt-far route add default via 198.51.100.1
  ip -n knt-far route add default via 2001:db8:0:40::1
  ip -n knt-world route add 203.0.113.0/24 via 198.51.100.40
  local node peer
  for node in node-a node-b; do
    ip netns add "knt-$node"
    quick "knt-$node"
    on_node "$node" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
    ip -n "knt-$node" link set lo up
    ip -n knt-world link add "$node" type veth peer name eth0 netns "knt-$node"
    ip -n knt-world link set "$node" master lan up
    ip -n "knt-$node" address add "${node_ip[$node]}/24" dev eth0
    ip -n "knt-$node" address add "${node_ip6[$node]}/64" dev eth0 nodad
    ip -n "knt-$node" link set eth0 up
    ip -n "knt-$node" route add default via 192.168.50.1
    ip -n "knt-$node" route add default via fd00:192:168:50::1
    ip -n "knt-$node" link add vxlan.calico address "${vtep_mac[$node]}" mtu 1450 type vxlan \
      id 4096 dstport 4789 local "${node_ip[$node]}" nolearning
    ip -n "knt-$node" address add "10.244.${node_nr[$node]}.1/32" dev vxlan.calico
    ip -n "knt-$node" link set vxlan.calico up
    ip -n knt-world route add "10.244.${node_nr[$node]}.0/24" via "${node_ip[$node]}"
    ip -n knt-world route add "fd00:10:244:${node_nr[$node]}::/64" via "${node_ip6[$node]}"
  done
  for node in node-a node-b; do
    if [[ $node == node-a ]]; then peer='node-b'; else peer='node-a'; fi
    ip -n "knt-$node" neighbour add "10.244.${node_nr[$peer]}.1" lladdr "${vtep_mac[$peer]}" dev vxlan.calico
    ip netns exec "knt-$node" bridge fdb append "${vtep_mac[$peer]}" dev vxlan.calico dst "${node_ip[$peer]}"
    ip -n "knt-$node" route add "10.244.${node_nr[$peer]}.0/24" via "10.244.${node_nr[$peer]}.1" dev vxlan.calico onlink
    ip -n "knt-$node" route add "fd00:10:244:${node_nr[$peer]}::/64" via "${node_ip6[$peer]}"
  done
}

# start_pod NAME...: as Calico's CNI plugin does it: host veth ee:ee:ee:ee:ee:ee, gateway 169.254.1.1.
start_pod() {
  local pod veth node ns four six
  for pod; do
    veth=$(veth "$pod"); node=$(field "$pod" 2); four=$(ip4 "$pod"); six=$(ip6 "$pod"); ns="knt-$veth"
    ip netns add "$ns"
    quick "$ns"
    ip -n "knt-$node" link add "$veth" address ee:ee:ee:ee:ee:ee mtu 1450 type veth peer name "tmp${veth:4:8}" mtu 1450
    ip -n "knt-$node" link set "tmp${veth:4:8}" netns "$ns"
    ip -n "$ns" link set "tmp${veth:4:8}" name eth0
    on_node "$node" sysctl -qw "net.ipv4.conf.$veth.proxy_arp=1" "net.ipv4.neigh.$veth.proxy_delay=0"
    ip -n "knt-$node" link set "$veth" up
    ip -n "knt-$node" route add "$four/32" dev "$veth"
    ip -n "$ns" link set lo up
    ip -n "$ns" link set eth0 up
    ip -n "$ns" address add "$four/32" dev eth0
    ip -n "$ns" route add 169.254.1.1 dev eth0 scope link
    ip -n "$ns" route add default via 169.254.1.1 dev eth0
    if [[ $six != - ]]; then
      ip -n "knt-$node" route add "$six/128" dev "$veth"
      ip -n "$ns" address add "$six/128" dev eth0 nodad
      ip -n "$ns" route add default via fe80::ecee:eeff:feee:eeee dev eth0
    fi
  done
}

# stop_pod NAME...
stop_pod() {
  local pod
  for pod; do ip netns delete "knt-$(veth "$pod")"; done
}

# service NODE BACKEND ADDRESS PROTOCOL PORT TARGET: what kube-proxy would program
service() {
  on_node "$1" "$2" -t nat -A PREROUTING -d "$3" -p "$4" --dport "$5" -j DNAT --to-destination "$6"
}

# log_drop NODE BACKEND CHAIN PREFIX MATCH...: LOG, and the same match again for DROP
log_drop() {
  local node=$1 backend=$2 chain=$3 prefix=$4; shift 4
  on_node "$node" "$backend" -A "$chain" "$@" -j LOG --log-prefix "$prefix" --log-level 5
  on_node "$node" "$backend" -A "$chain" "$@" -j DROP
}

# log_only NODE BACKEND CHAIN PREFIX MATCH...
log_only() {
  local node=$1 backend=$2 chain=$3 prefix=$4; shift 4
  on_node "$node" "$backend" -A "$chain" "$@" -j LOG --log-prefix "$prefix"
}

# tcp POD ADDRESS PORT SECONDS: the kernel repeats the SYN each second (before Linux 6.5 after 1, 3, 7 s)
tcp() { in_pod "$1" timeout "$4" bash -c "exec 3<>/dev/tcp/$2/$3" 2>/dev/null || true; }

# Lines of a busy node that have nothing to do with anything: a container on another bridge, a crash.
noise() {
  local node=$1 id=$2
  ip -n "knt-$node" link add docker0 type bridge 2>/dev/null || true
  ip -n "knt-$node" link set docker0 up
  ip -n "knt-$node" link add "veth$id" type veth peer name "tmp$id"
  ip -n "knt-$node" link set "veth$id" master docker0 up
  ip -n "knt-$node" link set "tmp$id" name "eth1" up
  ip -n "knt-$node" link delete "veth$id"
}
crash() { (send crash || true) 2>/dev/null; }

# ── Recording ─────────────────────────────────────────────────────────────────────────────────────

last_sequence() { (dd if=/dev/kmsg bs=8192 iflag=nonblock 2>/dev/null || true) | awk -F'[,;]' '/^[0-9]+,[0-9]+,/ { last = $2 } END { print last + 0 }'; }

# record CASE ENVELOPE HOST START FUNCTION: runs FUNCTION and appends what the kernel logged meanwhile
record() {
  local name=$1 shape=$2 host=$3 start=$4 after; shift 4
  after=$(last_sequence)
  dd if=/dev/kmsg bs=8192 of="$work/raw" 2>/dev/null &
  reader=$!
  "$@"
  sleep 0.3
  kill "$reader" 2>/dev/null || true
  wait "$reader" 2>/dev/null || true
  reader=''
  python3 "$work/envelope.py" "$shape" "$host" "$start" "$after" "$work/pods" <"$work/raw" >>"$work/$name.log"
}

# record_ulogd CASE HOST START FUNCTION: the same for what NFLOG rules (group 100) send to ulogd on HOST
record_ulogd() {
  local name=$1 host=$2 start=$3 plugins plugin; shift 3
  plugins=$(dirname "$(find /usr/lib -name ulogd_inppkt_NFLOG.so -print -quit)")
  {
    printf '[global]\nlogfile="%s/ulogd.out"\n' "$work"
    for plugin in inppkt_NFLOG raw2packet_BASE filter_IFINDEX filter_IP2STR filter_PRINTPKT output_LOGEMU; do
      printf 'plugin="%s/ulogd_%s.so"\n' "$plugins" "$plugin"
    done
    printf 'stack=log1:NFLOG,base1:BASE,ifi1:IFINDEX,ip2str1:IP2STR,print1:PRINTPKT,emu1:LOGEMU\n'
    printf '[log1]\ngroup=100\n[emu1]\nfile="%s/ulogd.log"\nsync=1\n' "$work"
  } >"$work/ulogd.conf"
  # shellcheck disable=SC2016 # $1 and $2 are the inner shell's
  ip netns exec "knt-$host" unshare --uts bash -c 'echo "$1" >/proc/sys/kernel/hostname; exec ulogd -c "$2"' - "$host" "$work/ulogd.conf" &
  reader=$!
  sleep 1
  "$@"
  sleep 1.5
  kill "$reader" 2>/dev/null || true
  wait "$reader" 2>/dev/null || true
  reader=''
  python3 "$work/restamp.py" "$start" <"$work/ulogd.log" >>"$work/$name.log"
}

# ── The cases ─────────────────────────────────────────────────────────────────────────────────────

policy_deny_traffic() {
  local worker round tries
  start_pod "$postgres" "${workers[@]}"
  service node-a iptables-legacy 10.96.201.55 tcp 5432 "$(ip4 "$postgres"):5432"
  service node-b iptables-legacy 10.96.201.55 tcp 5432 "$(ip4 "$postgres"):5432"
  log_drop node-b iptables-legacy FORWARD 'calico-drop: ' -o "$(veth "$postgres")" -p tcp --dport 5432 -m mark ! --mark 0x10000/0x10000
  for round in 1 2; do
    tries=()
    for worker in "${workers[@]}"; do tcp "$worker" 10.96.201.55 5432 2.4 & tries+=($!); sleep 0.13; done
    wait "${tries[@]}"
    if ((round == 1)); then noise node-b 3f2a91c; crash; fi
    sleep 1
  done
}
case_policy_deny() { record policy-deny syslog node-b 2026-11-21T10:15:03.418 policy_deny_traffic; }

dns_denied_traffic() {
  local chain
  start_pod "$dns_a" "$dns_b" "$web_a"
  service node-a iptables-nft 10.96.0.10 udp 53 "$(ip4 "$dns_a"):53"
  for chain in udp tcp; do
    log_drop node-a iptables-nft FORWARD 'calico-drop: ' -i "$(veth "$web_a")" -p "$chain" --dport 53
  done
  in_pod "$web_a" python3 "$work/send.py" dns 10.96.0.10 cart.shop.svc.cluster.local 5
  noise node-a 8d04e7b
  # Now the other coredns Pod, which is on the other node.
  on_node node-a iptables-nft -t nat -F
  service node-a iptables-nft 10.96.0.10 udp 53 "$(ip4 "$dns_b"):53"
  service node-a iptables-nft 10.96.0.10 tcp 53 "$(ip4 "$dns_b"):53"
  in_pod "$web_a" python3 "$work/send.py" dns 10.96.0.10 postgres.shop.svc.cluster.local 5
  crash
  tcp "$web_a" 10.96.0.10 53 3.4
}
case_dns_denied() { record dns-denied journal node-a 2026-11-21T10:31:40.020 dns_denied_traffic; }

egress_denied_traffic() {
  local i
  start_pod "$cart_b" "$syslog_relay"
  on_node node-b nft -f - <<RULES
table ip calico {
  chain filter-FORWARD {
    type filter hook forward priority filter;
    iifname "$(veth "$cart_b")" tcp dport 443 log prefix "calico-drop default np shop/cart-egress: " level notice
    iifname "$(veth "$cart_b")" tcp dport 443 drop
    iifname "$(veth "$syslog_relay")" ip daddr != 10.244.0.0/16 log prefix "calico-drop security gnp deny-internet: " level notice
    iifname "$(veth "$syslog_relay")" ip daddr != 10.244.0.0/16 drop
  }
}
RULES
  for i in 1 2 3; do
    tcp "$cart_b" 203.0.113.80 443 3.4
    in_pod "$syslog_relay" python3 "$work/send.py" udp 198.51.100.40 514 $((90 + i * 17)) 5514
    if ((i == 2)); then noise node-b 71bd5e0; crash; fi
  done
}
case_egress_denied() { record egress-denied rfc3339 node-b 2026-11-21T11:07:12.733201 egress_denied_traffic; }

ipv6_traffic() {
  # Before the Pods start, so that their first words (MLD reports, solicitations) are seen too.
  log_drop node-b ip6tables-nft INPUT 'ip6-input-drop: ' -p icmpv6 --icmpv6-type router-solicitation
  log_only node-b ip6tables-nft INPUT 'ACCEPT nd: ' -p icmpv6 --icmpv6-type neighbour-solicitation
  log_only node-b ip6tables-nft INPUT 'ACCEPT nd: ' -p icmpv6 --icmpv6-type neighbour-advertisement
  log_drop node-b ip6tables-nft PREROUTING 'ip6-input-drop: ' -t mangle -p icmpv6 --icmpv6-type 143
  log_drop node-b ip6tables-nft FORWARD 'calico-drop: ' -o "$(veth "$web_b")" -s fd00:10:244::/64
  log_drop node-b ip6tables-nft FORWARD 'calico-drop: ' -i "$(veth "$cart_b")" -o "$(veth "$web_b")"
  start_pod "$web_b" "$cart_b" "$web_a"
  sleep 1
  tcp "$web_a" "$(ip6 "$web_b")" 8080 3.4
  noise node-b a90c3d2
  in_pod "$web_a" ping -q -c 4 -i 0.5 -w 3 "$(ip6 "$web_b")" >/dev/null || true
  tcp "$cart_b" "$(ip6 "$web_b")" 8080 1.4
  in_pod "$cart_b" python3 "$work/send.py" udp "$(ip6 "$web_b")" 8125 64
}
case_ipv6() { record ipv6 syslog node-b 2026-11-21T11:40:55.102 ipv6_traffic; }

path_mtu_traffic() {
  local backend
  start_pod "$cart_b"
  ip -n knt-world route change 198.51.100.0/24 dev far src 198.51.100.1 mtu 1400
  ip -n knt-world -6 route delete 2001:db8:0:40::/64 dev far
  ip -n knt-world -6 route add 2001:db8:0:40::/64 dev far mtu 1400
  # A veth takes unsegmented packets of 64 KB; a network card does not.
  ip -n "knt-$(veth "$cart_b")" link set eth0 gso_max_segs 1
  ip -n knt-node-b link set eth0 gso_max_segs 1
  ip netns exec knt-far python3 "$work/send.py" listen 0.0.0.0 443 14 &
  ip netns exec knt-far python3 "$work/send.py" listen 2001:db8:0:40::40 443 14 &
  for backend in iptables-legacy ip6tables-legacy; do
    # Untracked flows, so their ICMP errors are INVALID to the rule every hardening guide has.
    on_node node-b "$backend" -t raw -A PREROUTING -i "$(veth "$cart_b")" -p tcp --dport 443 -j CT --notrack
    on_node node-b "$backend" -t raw -A PREROUTING -i eth0 -p tcp --sport 443 -j CT --notrack
    log_drop node-b "$backend" FORWARD 'INVALID-drop: ' -i eth0 -m conntrack --ctstate INVALID
  done
  log_drop node-b iptables-legacy INPUT 'input-icmp-drop: ' -i eth0 -p icmp --icmp-type destination-unreachable
  sleep 0.5
  in_pod "$cart_b" python3 "$work/send.py" upload 198.51.100.40 443 8000 4 &
  sleep 2
  in_pod "$cart_b" python3 "$work/send.py" upload 2001:db8:0:40::40 443 8000 4 &
  noise node-b 5c7e02f
  crash
  on_node node-b python3 "$work/send.py" upload 198.51.100.40 443 8000 4 || true
  sleep 2
}
case_path_mtu() { record path-mtu syslog node-b 2026-11-21T12:20:31.660 path_mtu_traffic; }

firewalld_reload_traffic() {
  local pods=("$web_a" "$cart_a" "$dns_a" "$prometheus" "${workers[0]}" "${workers[1]}" "${workers[2]}") pod round
  start_pod "${pods[@]}"
  for pod in "${pods[@]}"; do tcp "$pod" 203.0.113.80 443 1; done # refused by the far end: all is well
  noise node-a 2b6f8a1
  on_node node-a nft -f - <<'RULES'
table inet firewalld {
  chain filter_FORWARD {
    type filter hook forward priority filter + 10; policy accept;
    ct state { established, related } accept
    iifname "cali*" oifname "eth0" jump filter_FWD_public
    ct state invalid log prefix "STATE_INVALID_DROP: "
    ct state invalid drop
    oifname "eth0" log prefix "FINAL_REJECT: "
    oifname "eth0" reject with icmpx admin-prohibited
  }
  chain filter_FWD_public {
    tcp dport 443 log prefix "filter_FWD_public_REJECT: "
    tcp dport 443 reject with icmpx admin-prohibited
  }
}
RULES
  # Some releases write the quotes of their rule file into the prefix.
  log_drop node-a iptables-nft INPUT '"filter_IN_public_REJECT: "' -i eth0 -p tcp --dport 10250
  for round in 1 2 3; do
    for pod in "$web_a" "$cart_a" "${workers[0]}" "${workers[1]}"; do tcp "$pod" 203.0.113.80 443 1; done
    on_node node-b timeout 0.5 bash -c "exec 3<>/dev/tcp/${node_ip[node-a]}/10250" 2>/dev/null || true
    in_pod "$dns_a" python3 "$work/send.py" dns 203.0.113.80 example.com 2
    in_pod "${workers[2]}" ping -q -c 2 -i 0.3 -w 1 203.0.113.80 >/dev/null || true
    in_pod "$web_a" ping -q -c 1 -w 1 2001:db8:0:40::40 >/dev/null || true
    tcp "$prometheus" 198.51.100.40 9091 1
    if ((round == 2)); then crash; fi
    sleep 1
  done
}
case_firewalld_reload() { record firewalld-reload syslog node-a 2026-11-21T14:02:09.875 firewalld_reload_traffic; }

conntrack_full_traffic() {
  start_pod "${workers[3]}" "$prometheus" "$web_b"
  on_node node-b iptables-legacy -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
  old_conntrack_max=$(sysctl -n net.netfilter.nf_conntrack_max)
  sysctl -qw net.netfilter.nf_conntrack_max=64
  in_pod "${workers[3]}" python3 "$work/send.py" flows "$(ip4 "$prometheus")" 900 13
  sysctl -qw net.netfilter.nf_conntrack_max="$old_conntrack_max"
  old_conntrack_max=''
  noise node-b c41a77d
  crash
  log_drop node-b iptables-legacy FORWARD 'calico-drop: ' -i "$(veth "${workers[3]}")" -p tcp
  tcp "${workers[3]}" "$(ip4 "$web_b")" 8080 3.4
}
case_conntrack_full() { record conntrack-full syslog node-b 2026-11-21T15:48:20.004 conntrack_full_traffic; }

port_scan_traffic() {
  start_pod "$netcheck" "$web_b"
  log_drop node-b iptables-nft FORWARD 'calico-drop: ' -i "$(veth "$netcheck")" -o "$(veth "$web_b")"
  noise node-b e55f019
  in_pod "$netcheck" python3 "$work/send.py" ports "$(ip4 "$web_b")" 1 300
  crash
}
case_port_scan() { record port-scan syslog node-b 2026-11-21T13:05:44.551 port_scan_traffic; }

reused_address_1() { # the Job's Pod: at home its veth shows, on the other node only its address
  start_pod "$report" "$postgres" "$prometheus"
  log_drop node-b iptables-nft FORWARD 'calico-drop: ' -o "$(veth "$postgres")" -p tcp --dport 5432
  tcp "$report" "$(ip4 "$postgres")" 5432 3.4
}
reused_address_2() {
  log_drop node-a iptables-nft FORWARD 'calico-drop: ' -i "$(veth "$report")" -p tcp --dport 443
  tcp "$report" 203.0.113.80 443 1.4
  on_node node-a iptables-nft -F FORWARD
}
reused_address_3() {
  stop_pod "$report"
  start_pod "$cart_a"
  noise node-b 0d9be64
  tcp "$cart_a" "$(ip4 "$postgres")" 5432 3.4
}
reused_address_4() {
  start_pod "$web_old"
  log_drop node-a iptables-nft FORWARD 'calico-drop: ' -o "$(veth "$prometheus")" -p tcp --dport 9090
  tcp "$web_old" "$(ip4 "$prometheus")" 9090 3.4
  noise node-a 4a1f3c8
}
reused_address_5() {
  stop_pod "$web_old"
  start_pod "$relay"
  tcp "$relay" "$(ip4 "$prometheus")" 9090 3.4
  crash
}
case_reused_address() {
  record reused-address rfc3339-plain node-b 2026-11-21T02:01:14.300618 reused_address_1
  record reused-address rfc3339-plain node-a 2026-11-21T02:02:37.120007 reused_address_2
  record reused-address rfc3339-plain node-b 2026-11-21T09:30:02.881450 reused_address_3
  record reused-address rfc3339-plain node-a 2026-11-21T10:20:40.017733 reused_address_4
  record reused-address rfc3339-plain node-a 2026-11-21T11:02:19.564102 reused_address_5
}

log_only_traffic() {
  local web cart
  web=$(veth "$web_a"); cart=$(veth "$cart_a")
  start_pod "$web_a" "$cart_a"
  ip netns exec "knt-$cart" python3 "$work/send.py" listen "$(ip4 "$cart_a")" 9000 4 &
  on_node node-a sysctl -qw net.netfilter.nf_log.2=nf_log_ipv4 # what TRACE writes to
  on_node node-a iptables-legacy-restore <<RULES
*raw
-A PREROUTING -i $web -p icmp -m limit --limit 1/min --limit-burst 1 -j TRACE
COMMIT
*filter
:cali-FORWARD - [0:0]
:cali-fw-$web - [0:0]
:cali-tw-$cart - [0:0]
:ufw-before-logging-input - [0:0]
-A INPUT -j ufw-before-logging-input
-A FORWARD -j cali-FORWARD
-A cali-FORWARD -i $web -j cali-fw-$web
-A cali-FORWARD -o $cart -j cali-tw-$cart
-A cali-fw-$web -p tcp --dport 9000 -j LOG --log-prefix "calico-packet: " --log-level 5
-A cali-fw-$web -j MARK --set-xmark 0x10000/0x10000
-A cali-tw-$cart -p tcp --syn -j LOG --log-prefix "ACCEPT: "
-A cali-tw-$cart -m mark --mark 0x10000/0x10000 -j ACCEPT
-A ufw-before-logging-input -m limit --limit 3/min --limit-burst 10 -j LOG --log-prefix "[UFW AUDIT] "
-A ufw-before-logging-input -p tcp --dport 10250 -j LOG --log-prefix "[UFW ALLOW] "
COMMIT
RULES
  in_pod "$web_a" ping -q -c 2 -i 0.3 "$(ip4 "$cart_a")" >/dev/null || true
  tcp "$web_a" "$(ip4 "$cart_a")" 9000 1
  tcp "$web_a" "${node_ip[node-a]}" 10250 1
  in_pod "$cart_a" ping -q -c 2 -i 0.3 "${node_ip[node-a]}" >/dev/null || true
  noise node-a 96d2c05
  crash
  tcp "$web_a" "$(ip4 "$cart_a")" 9000 1
}
case_log_only() { record log-only rfc3339 node-a 2026-11-21T16:11:05.270911 log_only_traffic; }

host_firewall_traffic() {
  local i backend
  start_pod "$web_a" "$cart_a"
  for backend in iptables-legacy ip6tables-legacy; do
    on_node node-a "$backend" -A INPUT -i eth0 -p udp --dport 4789 -j ACCEPT
    log_drop node-a "$backend" INPUT '[UFW BLOCK] ' -i eth0
    log_drop node-a "$backend" OUTPUT '[UFW BLOCK] ' -o 'cali+' -p tcp --syn
  done
  log_drop node-a iptables-legacy FORWARD '[UFW BLOCK] ' -i "$(veth "$cart_a")" -o "$(veth "$web_a")"
  in_world ip route add 224.0.0.0/4 dev lan
  # keepalived and an mDNS responder run on the node, or it would not look at what is sent to their groups.
  ip -n knt-node-a address add 224.0.0.18/32 dev eth0 autojoin
  ip -n knt-node-a address add 224.0.0.251/32 dev eth0 autojoin
  # The router asks who wants multicast (IGMP, MLD).
  ip -n knt-world link set lan type bridge mcast_querier 1 mcast_query_use_ifaddr 1 mcast_startup_query_interval 100 mcast_startup_query_count 2 mcast_query_interval 400
  for i in 1 2 3; do
    # VRRP v2 advertisement, as keepalived multicasts it each second
    in_world python3 "$work/send.py" raw 224.0.0.18 112 2133640100010b9ac0a832010000000000000000 255
    # kubelet's HTTP probe of web: made on the node, so no IN=
    on_node node-a timeout 1.2 bash -c "exec 3<>/dev/tcp/$(ip4 "$web_a")/8080" 2>/dev/null || true
    ip netns exec knt-far timeout 1 bash -c "exec 3<>/dev/tcp/${node_ip[node-a]}/22" 2>/dev/null || true
  done
  in_world python3 "$work/send.py" udp 255.255.255.255 67 300 68 lan
  in_world python3 "$work/send.py" udp 224.0.0.251 5353 46 5353 lan
  in_world python3 "$work/send.py" udp 192.168.50.255 138 201 138
  # SCTP INIT: ports 40001 → 36412, to the node and from Pod to Pod
  ip netns exec knt-far python3 "$work/send.py" raw "${node_ip[node-a]}" 132 9c418e3c00000000000000000100001427a1d5c80001a000000a000a7c01b2de
  in_pod "$cart_a" python3 "$work/send.py" raw "$(ip4 "$web_a")" 132 9c418e3c00000000000000000100001427a1d5c80001a000000a000a7c01b2de
  in_pod "$cart_a" python3 "$work/send.py" raw "$(ip4 "$web_a")" 47 0000080045000014
  in_world ping -q -c 2 -i 0.3 -w 1 "${node_ip6[node-a]}" >/dev/null || true
  noise node-a 18e6b9f
  crash
  on_node node-a timeout 3.4 bash -c "exec 3<>/dev/tcp/$(ip4 "$web_a")/8080" 2>/dev/null || true
}
case_host_firewall() { record host-firewall syslog node-a 2026-11-21T17:22:48.330 host_firewall_traffic; }

martian_traffic() {
  local i
  start_pod "$web_b" "$cart_b"
  on_node node-b sysctl -qw net.ipv4.conf.all.log_martians=1 net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.default.rp_filter=1
  # The Pod uses an address that routes somewhere else: another Pod's.
  for i in 1 2 3; do
    in_pod "$cart_b" python3 "$work/send.py" spoof 10.244.0.50 "$(ip4 "$web_b")"
    sleep 1.2
  done
  noise node-b b3d7f20
  in_world python3 "$work/send.py" spoof 10.244.1.22 "$(ip4 "$web_b")"
}
case_martian() { record martian syslog node-b 2026-11-21T12:50:16.940 martian_traffic; }

raw_kmsg_traffic() {
  start_pod "$prometheus" "${workers[0]}"
  log_drop node-a iptables-legacy FORWARD 'calico-drop: ' -i "$(veth "${workers[0]}")" -o "$(veth "$prometheus")"
  noise node-a 67fa0ce
  tcp "${workers[0]}" "$(ip4 "$prometheus")" 9091 3.4
  in_pod "${workers[0]}" ping -q -c 2 -i 0.3 -w 1 "$(ip4 "$prometheus")" >/dev/null || true
  crash
}
case_raw_kmsg() { record raw-kmsg kmsg node-a 2026-11-21T16:40:00 raw_kmsg_traffic; }

nflog_ulogd_traffic() {
  local pod policy prefix=()
  local -A policies=([$cart_b]=shop/cart-egress [$web_b]=shop/web-ingress)
  start_pod "$cart_b" "$web_b" "$web_a"
  for pod in "$cart_b" "$web_b"; do
    policy=${policies[$pod]}
    prefix=(-j NFLOG --nflog-group 100 --nflog-prefix "DROP by policy $policy")
    on_node node-b iptables-nft -A FORWARD -i "$(veth "$pod")" -o eth0 "${prefix[@]}"
    on_node node-b iptables-nft -A FORWARD -i "$(veth "$pod")" -o eth0 -j DROP
    on_node node-b iptables-nft -A FORWARD -o "$(veth "$pod")" "${prefix[@]}"
    on_node node-b iptables-nft -A FORWARD -o "$(veth "$pod")" -j DROP
  done
  tcp "$cart_b" 203.0.113.80 443 3.4
  in_pod "$cart_b" python3 "$work/send.py" dns 203.0.113.80 example.com 2
  tcp "$web_a" "$(ip4 "$web_b")" 8080 2.4
  in_pod "$web_a" ping -q -c 2 -i 0.3 -w 1 "$(ip4 "$web_b")" >/dev/null || true
  in_pod "$web_a" python3 "$work/send.py" raw "$(ip4 "$web_b")" 132 9c418e3c00000000000000000100001427a1d5c80001a000000a000a7c01b2de
  tcp "$cart_b" "$(ip4 "$web_b")" 8080 1.4
}
case_nflog_ulogd() { record_ulogd nflog-ulogd node-b 2026-11-21T13:30:27 nflog_ulogd_traffic; }

# ── Main ──────────────────────────────────────────────────────────────────────────────────────────

for name in "${chosen[@]}"; do
  : >"$work/$name.log"
  build_nodes
  "case_${name//-/_}"
  tear_down
  cp "$work/$name.log" "$out/$name.log"
  printf '%-18s %4d lines\n' "$name" "$(wc -l <"$out/$name.log")"
done
