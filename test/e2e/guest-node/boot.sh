#!/bin/bash
# The first process of a guest: boot.sh NAME ADDRESS FOLDER MODULES NODE. Makes it a machine on which a kubelet can run, and ends with it.
set -eu
name=$1 address=$2 folder=$3 modules=$4 node=$5
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
# The kubelet and the runtime share mounts with containers.
mount --make-rshared /
hostname "$name"
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /dev/shm /dev/pts /run/lock /run/systemd/journal /run/log/journal/"$(cat "$folder/machine-id")" /var/log/pods /var/lib /var/tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tracefs tracefs /sys/kernel/tracing
mount --bind "$folder/machine-id" /etc/machine-id
# Names are not looked up outside the machine.
mount --bind "$folder/resolv.conf" /etc/resolv.conf
mkdir -p /usr/lib/modules
ln -sfn "$modules" "/usr/lib/modules/$(uname -r)"
ip link set lo up
device=$(basename /sys/class/net/e*)
ip address add "$address/24" dev "$device"
ip link set "$device" up
ip route add default via "${address%.*}.1"
for setting in net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0; do
  sysctl -qw "$setting"
done
# Not by `exec`, because this shell reaps orphaned processes.
"$node" "$(dirname "$0")/guest-shell.ts" &
wait $!
