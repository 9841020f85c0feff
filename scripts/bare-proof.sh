#!/usr/bin/env bash
# Proves that test/programs/table.ts is whole: runs the end-to-end tests in a Debian that has nothing but its essential packages, apt,
# this checkout with its Node.js, and Go. What a test starts besides has to be installed by the tests themselves.
#
#   sudo scripts/bare-proof.sh [ARGUMENT …]      arguments of vitest, such as --project kernel or the name of a file
#
# On Debian 12. It is not run by the tests: it makes a Debian root with mmdebstrap. The control plane is taken from the cache if it is built.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
export PATH=$root/node_modules/.bin:$PATH

if [ "$(id -u)" != 0 ]; then
  echo 'bare-proof.sh: must be root, as it mounts and makes namespaces' >&2
  exit 2
fi
node test/programs/install.ts bare

# In a mount namespace of its own: nothing is left mounted however it ends.
if [ "${1:-}" != --mounted ]; then
  bare=$(mktemp -d)
  trap 'rm -rf --one-file-system "$bare"' EXIT
  mmdebstrap --quiet --variant=apt --include=ca-certificates bookworm "$bare" /etc/apt/sources.list.d/debian.sources
  unshare --mount --propagation private "$0" --mounted "$bare" "$@"
  exit
fi
bare=$2
shift 2

apt-config dump | grep '^Acquire::' > "$bare/etc/apt/apt.conf.d/99machine" || true
cp -a /etc/apt/auth.conf.d "$bare/etc/apt/" 2> /dev/null || true
cp /etc/ssl/certs/ca-certificates.crt "$bare/etc/ssl/certs/ca-certificates.crt"
cp /etc/resolv.conf /etc/hosts "$bare/etc/"

# within FOLDER: it is there, too, under the same path.
within() {
  [ -d "$1" ] || return 0
  mkdir -p "$bare$1"
  mount --rbind "$1" "$bare$1"
}
mount --bind "$bare" "$bare"
for folder in /proc /sys /dev "$root" "$(go env GOROOT)" "$(go env GOMODCACHE)" "$(go env GOCACHE)"; do within "$folder"; done
# Lists what is built, but no program that was unpacked there.
for name in built; do within "$HOME/.cache/kube-netfilter-tailer/$name"; done
mount -t tmpfs tmpfs "$bare/run"

go=$(go env GOROOT)/bin
# Not chroot alone: who enters a mount namespace made within would be at the machine's root again.
mkdir "$bare/machine"
cd "$bare"
pivot_root . machine
# A bare Debian has no umount.
/machine/bin/umount --lazy /machine
rmdir /machine
PATH=$root/node_modules/.bin:$go:/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/tmp \
  exec chroot . sh -c 'cd "$0" && exec vitest run --config test/e2e/vitest.config.ts "$@"' "$root" "$@"
