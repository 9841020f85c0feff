#!/bin/sh
# Makes the root folder of an image from Debian packages: their shared libraries, journalctl, and what says what they are.
# Nothing is run of them, so that they may be of another architecture than this machine.
#
#   image-root.sh ARCHITECTURE FOLDER PACKAGE...
#
# ARCHITECTURE as Debian and OCI both call it: amd64, arm64. Runs in an image of Debian, as root.
set -eu

if [ $# -lt 3 ] || [ -z "$1" ]; then
  echo 'image-root.sh: expected ARCHITECTURE FOLDER PACKAGE... The architecture is TARGETARCH: set by BuildKit, and by Buildah with --platform' >&2
  exit 2
fi
arch=$1
root=$2
shift 2

dpkg --add-architecture "$arch"
apt-get update -qq

packages=$(mktemp -d)
# Else apt may not write to it with lesser rights, and says so.
chmod 0777 "$packages"
cd "$packages"
for package in "$@"; do
  apt-get download -qq "$package:$arch"
done

# Scanners for vulnerabilities look here where there is no package manager.
status=$root/var/lib/dpkg/status.d
mkdir -p "$status"
for file in *.deb; do
  dpkg-deb --extract "$file" "$root"
  dpkg-deb --field "$file" > "$status/$(dpkg-deb --field "$file" Package)"
done

# Libraries, too, but ones that nothing here loads: character sets, PAM's, what belongs to systemd's other programs.
rm -rf "$root"/usr/share/gdb "$root"/usr/lib/*/gconv "$root"/usr/lib/*/security "$root"/lib/*/security "$root"/lib/systemd
# A package's folder in share/doc may be a link to that of another one, which has the copyright for both.
find "$root" -mindepth 1 -not -type d \
  -not -name '*.so' -not -name '*.so.*' \
  -not -path "$root/bin/journalctl" -not -path "$root/usr/bin/journalctl" \
  -not -path '*/doc/*/copyright' -not \( -type l -path '*/share/doc/*' -not -path '*/share/doc/*/*' \) \
  -not -path '*/common-licenses/*' -not -name os-release -not -name debian_version \
  -not -path "$status/*" -delete
find "$root" -mindepth 1 -type d -empty -delete

# Programs look up their own user's name, and the runtime mounts into these folders.
mkdir -p "$root/etc" "$root/dev" "$root/proc" "$root/sys" "$root/var/log" "$root/run" "$root/var/lib/kube-netfilter-tailer"
mkdir -m 1777 "$root/tmp"
printf '%s\n' 'root:x:0:0:root:/:/sbin/nologin' 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin' > "$root/etc/passwd"
printf '%s\n' 'root:x:0:' 'nonroot:x:65532:' > "$root/etc/group"
