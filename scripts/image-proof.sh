#!/usr/bin/env bash
# Proves the image and its Pods where there is no container engine and no registry: builds both targets of the Dockerfile with
# Buildah on stand-ins for the base images (image-bases.sh), and starts each as the runtime of a node would, with the options that
# the rendered manifests come to (image-pod.mjs): runc, read-only root, the capabilities, no_new_privs, seccomp, the mounts.
#
#   sudo scripts/image-proof.sh [BASES]        about six minutes; ends with `N passed, N failed`
#
# BASES: a folder that image-bases.sh has filled before.
#
# On Debian 12. It is not run by the tests: it installs what test/programs/table.ts names for it.
# KUBECTL: one that renders (default: the one that the end-to-end tests build, else the one on the path).
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 2
export PATH=$root/node_modules/.bin:$PATH

if [ "$(id -u)" != 0 ]; then
  echo 'image-proof.sh: must be root, as it mounts and makes namespaces' >&2
  exit 2
fi
node test/programs/install.ts image || exit 2
kubectl=${KUBECTL:-$(compgen -G "$HOME/.cache/kube-netfilter-tailer/control-plane/*/bin/kubectl" | head -n 1)}
kubectl=${kubectl:-kubectl}

work=$(mktemp -d)
storage=(--root "$work/storage" --runroot "$work/run")
node=$work/node
passed=0
failed=0
cleanup() {
  pod kill --all > /dev/null 2>&1
  pod rm --all --force > /dev/null 2>&1
  pod image umount --all --force > /dev/null 2>&1
  grep -o " $work/[^ ]*" /proc/mounts | sort --reverse | xargs --no-run-if-empty umount
  rm -rf "$work"
}
trap cleanup EXIT

. scripts/image-proof-steps.sh

echo '── the images'
bases=${1:-$work/bases}
[ -d "$bases" ] || scripts/image-bases.sh "$bases" || exit 1
# Under names of their own: what the Dockerfile names by digest cannot be stood for.
pod import -q "$bases/debian.tar" localhost/stand-in/debian > /dev/null
pod import -q "$bases/node.tar" localhost/stand-in/node > /dev/null
version=$(node -p 'require("./package.json").version')
secret=()
[ -f "$HOME/.npmrc" ] && secret=(--secret "id=npmrc,src=$HOME/.npmrc")
arch=$(dpkg --print-architecture)
build() {
  buildah "${storage[@]}" build --quiet --layers --pull-never --isolation chroot --platform "linux/$arch" "${secret[@]}" \
    --build-arg NODE_IMAGE=localhost/stand-in/node --build-arg DEBIAN_IMAGE=localhost/stand-in/debian \
    --target "$1" --tag "kube-netfilter-tailer:$2" .
}
check 'target plain builds' '^[0-9a-f]{64}$' 0 build plain "$version"
check 'target journal builds' '^[0-9a-f]{64}$' 0 build journal "$version-journal"
for tag in "$version" "$version-journal"; do
  folder=$(pod image mount "localhost/kube-netfilter-tailer:$tag")
  packed=$(tar -C "$folder" -c . | gzip -6 | wc -c)
  echo "size    $tag: $(du -sm "$folder" | cut -f 1) MiB, packed $((packed / 1048576)) MiB, $(find "$folder" -type f | wc -l) files"
  check "$tag has no shell and no package manager" '^$' 0 bash -c "ls $folder/bin/sh $folder/usr/bin/dpkg $folder/usr/bin/apt 2>/dev/null; echo"
  check "$tag tells what it is made of" '^[0-9]+ packages of npm, [0-9]+ of Debian, the bundle and node [0-9.]+$' 0 node scripts/image-bill.mjs "$folder"
done
other=arm64
[ "$arch" = arm64 ] && other=amd64
cross() {
  pod run --rm --pull=never --network=host --ulimit=nofile=1024:1024 --ulimit=nproc=1024:1024 \
    "--volume=$root/scripts/image-root.sh:/image-root:ro" localhost/stand-in/debian \
    sh -c "/image-root $other /target base-files libc6 libgcc-s1 libstdc++6 systemd libsystemd-shared >&2 && od -An -tx1 -j 18 -N 2 /target/bin/journalctl"
}
# e_machine of ELF: 183 is AArch64, 62 is x86-64.
check "packages of $other" "^ $([ "$other" = arm64 ] && echo b7 || echo 3e) 00" 0 cross

echo '── a node'
mkdir -p "$work/shared" "$node"/var/log/{pods,ulog} "$node/var/lib" "$node/run/log"
cp -r samples "$work/shared/samples"
cat > "$work/shared/kubeconfig" << 'END'
{"apiVersion":"v1","kind":"Config","clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:6443"}}],
"users":[{"name":"a","user":{"token":"a"}}],"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"current-context":"a"}
END
# As on Ubuntu: of the user syslog and the group adm, for nobody else.
echo "$(date -u +%FT%TZ) proof-node kernel: calico-drop: IN=eth0 OUT=cali0 SRC=203.0.113.9 DST=10.0.0.1 LEN=60 PROTO=TCP SPT=1 DPT=2 SYN URGP=0" \
  > "$node/var/log/kern.log"
chown 104:4 "$node/var/log/kern.log"
chmod 0640 "$node/var/log/kern.log"

without='CapEff: 0{16} CapBnd: 0{16} .*NoNewPrivs: 1 .*Seccomp: 2'
replay=(replay --pods /shared/samples/cluster.json --now 2026-11-21T20:00:00Z)

echo '── kern-log: a file of another user'
pod_of kern-log
check version "^$version\$" 0 run "$version" version
check replay 'PacketDrop .*x36' 0 run "$version" "${replay[@]}" /shared/samples/policy-deny.log
check 'replay with a time zone' 'PacketDrop .*x36' 0 run "$version" "${replay[@]}" --time-zone Europe/Berlin /shared/samples/policy-deny.log
check 'run without a cluster' 'no API server is known' 2 run "$version" run
check 'run without a name' 'is no name of a Node' 2 run "$version" run --node=
pod_options+=(--entrypoint=kube-netfilter-tailer)
check 'by its name, as by kubectl exec' "^$version\$" 0 run "$version" version
pod_of kern-log
agent "$version" > "$work/said"
heard 'reads kern.log' "Reading the kernel's log from /var/log/kern.log"
heard 'rights' "$without"
heard 'node is PID 1' 'optimize-for-size .*pid in its namespace: 1$'
heard 'SIGTERM' '^status after SIGTERM: 0'
heard 'state is kept' '.' "$node/var/lib/kube-netfilter-tailer/"state-*.log
pod_options=("${pod_options[@]/--group-add=*/--group-add=0}")
agent "$version" > "$work/said"
heard 'and without the group adm it could not' '/var/log/kern.log: [^;]*permission denied'

echo '── journal'
journald > /dev/null 2>&1
pod_of journal
# As process 1 it takes any output for a console.
pod_options+=(--entrypoint=journalctl --env=SYSTEMD_COLORS=0)
check 'journalctl --version' '^systemd 2[0-9]+' 0 run "$version-journal" --version
check 'journalctl reads' '"_TRANSPORT":"kernel"' 0 run "$version-journal" --merge --no-pager --directory=/run/log/journal --output=json -n 1 _TRANSPORT=kernel
pod_of journal
# So that it looks back as on its first run: journald's own first words are there.
rm "$node/var/lib/kube-netfilter-tailer/"state-*.log
agent "$version-journal" > "$work/said"
heard 'reads the journal' "Reading the kernel's log from the journal in /run/log/journal"
heard 'rights' "$without"
heard 'SIGTERM' '^status after SIGTERM: 0'
heard 'position in the journal' '"s=[0-9a-f]{32};i=' "$node/var/lib/kube-netfilter-tailer/"state-*.log
unheard 'no error of journalctl' 'journal cannot be read|journalctl ended'

echo '── k3s and eks: a file beside the journal'
echo "Nov 21 10:00:00 proof-node DROP IN=eth0 OUT=cali0" > "$node/var/log/ulog/syslogemu.log"
chown -R 104:4 "$node/var/log/ulog"
chmod 0750 "$node/var/log/ulog"
pod_of k3s
agent "$version-journal" > "$work/said"
heard 'reads ulogd' '"sources":."journal","/var/log/ulog/syslogemu.log","containers"'
unheard 'may read ulogd' 'syslogemu.log.*(denied|not there)'

echo '── kmsg: privileged'
pod_of kmsg
agent "$version" > "$work/said"
heard 'reads the ring buffer' '"sources":."/dev/kmsg"'
unheard 'may read it' 'ring buffer.*cannot|permission denied'
pod_options=("${pod_options[@]/--privileged/--privileged=false}")
agent "$version" > "$work/said"
heard 'and not privileged it could not' 'privileged to have it'

echo "── conntrack: the host's /proc"
# With all capabilities, as the host's own services.
sleep 600 &
other=$!
device=$(ls /sys/class/net | grep -vx -m 1 lo)
look="try { console.log('namespace', fs.readlinkSync('/host/proc/$other/ns/net')) } catch (error) { console.log('namespace', error.code) }"
write="try { fs.writeFileSync('/host/proc/sys/net/netfilter/nf_conntrack_max', '1') } catch (error) { console.log('write', error.code) }"
pod_of journal conntrack-details
pod_options+=(--entrypoint=node)
check 'details: no sysctl can be written' '^write EROFS' 0 run "$version-journal" -e "$write"
check 'details: nothing of processes' '^namespace ENOENT' 0 run "$version-journal" -e "$look"
folders="console.log('folders', fs.readdirSync('/host/proc').join(), fs.readdirSync('/host/proc/self').join(), fs.readdirSync('/host/proc/sys/net').join())"
check 'details: two folders of /proc and no more' '^folders self,sys net netfilter$' 0 run "$version-journal" -e "$folders"
table="console.log('table', fs.readFileSync('/host/proc/sys/net/netfilter/nf_conntrack_count', 'utf8').trim(), fs.readFileSync('/host/proc/self/net/dev', 'utf8').includes('$device:'))"
check "details: the host's network namespace" '^table [0-9]+ true$' 0 run "$version-journal" -e "$table"
pod_of journal conntrack-owners
pod_options+=(--entrypoint=node)
check 'owners: whose namespace it is' '^namespace net:' 0 run "$version-journal" -e "$look"
kill "$other"

echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
