#!/usr/bin/env bash
# Makes stand-ins for the images that the Dockerfile begins with, where no registry of images can be reached:
#
#   image-bases.sh FOLDER
#
# Debian by mmdebstrap from the machine's own package sources; on top of it Node.js from the locked npm package, and the machine's
# npm and certificates. Writes FOLDER/debian.tar and FOLDER/node.tar. As root, on Debian 12.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:?image-bases.sh: expected a folder}

mkdir -p "$folder"
mmdebstrap --quiet --variant=apt --include=ca-certificates bookworm "$folder/debian" /etc/apt/sources.list.d/debian.sources
apt-config dump | grep '^Acquire::' > "$folder/debian/etc/apt/apt.conf.d/99machine" || true
cp -a /etc/apt/auth.conf.d "$folder/debian/etc/apt/" 2> /dev/null || true
cp /etc/ssl/certs/ca-certificates.crt "$folder/debian/etc/ssl/certs/ca-certificates.crt"
tar -C "$folder/debian" -cf "$folder/debian.tar" .

local=$folder/debian/usr/local
cp "$root"/node_modules/node-linux-*/bin/node "$local/bin/node"
cp "$root"/node_modules/node-linux-*/LICENSE "$local/LICENSE"
mkdir -p "$local/lib/node_modules" "$local/etc"
cp -a "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$local/bin/npm"
echo 'cafile=/etc/ssl/certs/ca-certificates.crt' > "$local/etc/npmrc"
tar -C "$folder/debian" -cf "$folder/node.tar" .
