# set-up.sh FOLDER ROOT: puts writes to /etc, /var and the checkout into layers that are gone with the last process that sees them.
# shellcheck shell=bash
set -euo pipefail
folder=$1 root=$2
mount -t tmpfs tmpfs "$folder/layers"
layer() {
  mkdir -p "$folder/layers/$1"/{upper,work}
  mount -t overlay overlay -o "lowerdir=$2,upperdir=$folder/layers/$1/upper,workdir=$folder/layers/$1/work" "$3"
}
layer etc /etc /etc
layer var /var /var
layer work "$root" "$folder/work"
cd "$folder/work"
cp "$folder"/files/* .
ln -s "$folder/work" kube-netfilter-tailer
mkdir -p /etc/modules-load.d /etc/iptables /etc/sysconfig/iptables /etc/nftables.d /etc/cni/net.d
touch /etc/nftables.conf /etc/cni/net.d/10-calico.conflist
mkdir -p /var/lib/kube-netfilter-tailer /var/run/calico
cp samples/policy-deny.log /var/log/kern.log
cp /var/log/kern.log /var/log/kern.log.1
cp /var/log/kern.log /var/log/iptables.log
cp /var/log/kern.log kern.log
gzip -c /var/log/kern.log > /var/log/kern.log.2.gz
# These limits exist once for the whole machine; only its first network namespace can see and change them.
limits() {
  mkdir -p "$folder/layers/limits/$1/default"
  for number in 1 2 3; do echo $((number * 1024)) > "$folder/layers/limits/$1/default/gc_thresh$number"; done
  mount --bind "$folder/layers/limits/$1" "/proc/sys/net/$1/neigh"
}
limits ipv4
limits ipv6
switches=$folder/layers/netfilter
mkdir -p "$switches"
for name in nf_conntrack_count nf_conntrack_buckets; do cat "/proc/sys/net/netfilter/$name" > "$switches/$name"; done
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
