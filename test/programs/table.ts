/**
 * The uses of programs: `unit` is `npm test`, `e2e` includes the playground, `measuring` is the benchmarks and the soak
 * test, and each of the others is one script in samples/ or scripts/.
 */
export const uses = ['unit', 'e2e', 'measuring', 'capture', 'arm64', 'bare', 'release'] as const;
export type Use = (typeof uses)[number];

/** The programs that a package must contain for some uses. */
export interface Row {
  readonly uses: readonly Use[];
  /**
   * `NAME` is installed from Debian. `unpack:NAME` is unpacked from Debian into a folder of the cache, because its
   * installation would start a server. `NAME==VERSION` is put from PyPI into a folder of the cache.
   */
  readonly package: string;
  /** Names of programs; paths of files; in a package that has a folder, paths below it. */
  readonly entries: readonly string[];
}

/** Debian's folder for libraries of this processor. */
export const libraries = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;

/** The library that gives a process a wall clock of its own. */
export const fakeClockLibrary = `${libraries}/faketime/libfaketime.so.1`;

/**
 * Every program that a test, a script, or a tested command of a document starts: uses, package, entries. While tests
 * run, PATH has only these (install.ts), so a program that is missing here fails on every machine.
 */
export const table = readTable(`
# Scripts, and commands of documents
all coreutils basename cat chmod chown chroot cksum cp cut date dd df dirname du echo env expr false head id install ln ls mkdir mkfifo
  mktemp mv nohup nproc od paste printf pwd readlink realpath rm rmdir seq sleep sort stat stdbuf stty tail tee test timeout touch tr true
  truncate uname uniq wc
all bash bash
all dash sh
all grep grep egrep fgrep
all sed sed
all mawk awk
all findutils find xargs
all diffutils cmp diff
all gzip gzip gunzip zcat zgrep
unit,e2e,arm64,release tar tar
e2e ipset ipset
e2e conntrack conntrack
e2e,capture procps free pgrep pkill ps sysctl top
e2e psmisc fuser
e2e curl curl
e2e jq jq
e2e less less
e2e netcat-openbsd nc
e2e tcpdump tcpdump
# Completion of commands
e2e zsh zsh
e2e fish fish
# Nodes under test: namespaces, disks, clocks, journals
e2e hostname hostname
e2e,measuring,capture,bare util-linux dmesg flock fsfreeze mountpoint nsenter pivot_root prlimit setpriv setsid unshare
e2e,measuring e2fsprogs mkfs.ext4
e2e,measuring,capture,bare mount losetup mount umount
e2e libfaketime ${fakeClockLibrary}
e2e systemd journalctl /lib/systemd/systemd-journald
e2e systemd-journal-remote /lib/systemd/systemd-journal-remote
# Networks, their rules and packets
e2e,measuring,capture iproute2 bridge ip ss tc
e2e,measuring,capture iptables xtables-legacy-multi xtables-nft-multi
  iptables iptables-restore iptables-save iptables-legacy iptables-legacy-restore iptables-legacy-save
  iptables-nft iptables-nft-restore iptables-nft-save
  ip6tables ip6tables-restore ip6tables-save ip6tables-legacy ip6tables-legacy-restore ip6tables-legacy-save
  ip6tables-nft ip6tables-nft-restore ip6tables-nft-save
e2e,measuring,capture nftables nft
e2e,capture iputils-ping ping
e2e,capture ulogd2 ulogd
e2e ulogd2-json ${libraries}/ulogd/ulogd_output_JSON.so
e2e,capture python3 python3
e2e ethtool ethtool
e2e containernetworking-plugins /usr/lib/cni/ptp /usr/lib/cni/host-local /usr/lib/cni/loopback
# A real OVN, with the libraries that it needs
e2e unpack:openvswitch-common usr/bin/ovs-appctl usr/bin/ovs-ofctl usr/bin/ovsdb-tool usr/sbin/ovsdb-server
e2e unpack:openvswitch-switch usr/bin/ovs-vsctl usr/lib/openvswitch-switch/ovs-vswitchd usr/share/openvswitch/vswitch.ovsschema
e2e unpack:ovn-common usr/bin/ovn-nbctl
e2e unpack:ovn-central usr/bin/ovn-northd usr/share/ovn/ovn-nb.ovsschema usr/share/ovn/ovn-sb.ovsschema
e2e unpack:ovn-host usr/bin/ovn-controller
e2e libcap-ng0 ${libraries}/libcap-ng.so.0
e2e libnuma1 ${libraries}/libnuma.so.1
e2e libunbound8 ${libraries}/libunbound.so.8
e2e libxdp1 ${libraries}/libxdp.so.1
# Compilers of BPF programs
e2e clang-19 clang-19
e2e libbpf-dev /usr/include/bpf/bpf_helpers.h
# Programs of others that read what this one writes: Prometheus, a browser, a receiver of OTLP, ClickHouse as a library
e2e unpack:prometheus usr/bin/promtool
e2e chromium-headless-shell chromium-headless-shell
e2e fonts-dejavu-core /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf
e2e python3-pip pip3
e2e,measuring rotel==0.0.1a15 rotel/rotel-agent
e2e chdb-core-lite==26.5.0 chdb/
e2e pyarrow==26.0.1 pyarrow/
# Images, and runc's parts in C
e2e,measuring,bare apt apt-cache apt-config apt-get
e2e,arm64,bare mmdebstrap mmdebstrap
e2e,measuring dpkg dpkg dpkg-deb
# Kernels of Debian in QEMU
e2e,measuring qemu-system-x86 qemu-system-x86_64
e2e,measuring busybox-static busybox
e2e,measuring kmod depmod modprobe
e2e,measuring libc-bin ldd
e2e buildah buildah
e2e gcc gcc
e2e binutils as ld
e2e libc6-dev /usr/include/stdlib.h
e2e libseccomp-dev /usr/include/seccomp.h
e2e pkgconf pkg-config
arm64 qemu-user-static qemu-aarch64-static
`);

/**
 * Programs that a contributor has to install, because no package of Debian 12 has them; CONTRIBUTING.md has the
 * versions.
 */
export const brought = ['node', 'npm', 'go', 'git'];

/** A line that begins with a space continues the one before. */
function readTable(text: string): readonly Row[] {
  const rows = text
    .replaceAll(/^#.*\n/gm, '')
    .trim()
    .split(/\n(?=\S)/);
  return rows.map((row) => {
    const [names = '', name = '', ...entries] = row.split(/\s+/);
    return {
      uses: uses.filter((use) => ['all', use].some((each) => names.split(',').includes(each))),
      package: name,
      entries,
    };
  });
}
