import { prefixed, syn, synFlow } from './rows.ts';
import type { Row } from './rows.ts';

const dropped = { verdict: 'dropped' } as const;
const rejected = { verdict: 'rejected' } as const;
const accepted = { verdict: 'accepted' } as const;
const logged = { verdict: 'logged' } as const;

/** One packet behind the prefixes that policy engines and firewalls give their LOG rules. */
export const prefixLines: Row[] = [
  // The kernel prints names of files that a tenant chooses: here one that begins with `drop IN=eth0 …`.
  prefixed(
    'a crashed process, as x86 prints it',
    'drop[8538]: segfault at 0 ip 000000000040161e sp 00007ffc0291e370 error 6 in drop ',
    logged,
  ),
  prefixed(
    'a crashed process whose name is taken for a tag of syslog',
    'segfault at 0 ip 000000000040161e sp 00007ffc0291e370 error 6 in calico-drop: ',
    logged,
  ),
  prefixed(
    'a process that was trapped',
    'traps: a.out[71] general protection fault ip:40161e sp:7ffc0291e370 error:0 in calico-drop: ',
    logged,
  ),
  prefixed(
    'a crashed process, as arm64 prints it',
    'a.out[71]: unhandled exception: DABT (lower EL), ESR 0x0000000092000046, in drop ',
    logged,
  ),
  prefixed('a process with an executable stack', "process '/tmp/calico-drop: ", logged),
  prefixed('an option of a mount', "overlayfs: failed to resolve 'calico-drop: ", logged),
  prefixed('a traced command line, as Yama prints it', 'ptrace attach of "sleep drop ', logged),
  prefixed(
    'a file of a mount in a user namespace',
    'overlayfs: refusing to follow metacopy origin for (d/drop ',
    logged,
  ),
  prefixed('a path of a mount', "overlayfs: '/tmp/drop ", logged),
  prefixed('a control group', 'cgroup: fork rejected by pids controller in /kubepods/drop ', logged),
  prefixed('a control group out of memory', 'oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods/drop ', logged),
  prefixed('an audit record without auditd', "audit: type=1107 audit(1.1:4): pid=12 uid=0 msg='calico-drop: ", logged),
  prefixed('a label of a file system', 'EXT4-fs (loop0): Unrecognized mount option drop ', logged),
  prefixed('a device', 'usb 1-1: Product: drop ', logged),
  // An operator may write these.
  prefixed('a number in brackets', '[12] DROP in FORWARD: ', dropped),
  prefixed('a number behind a name', 'fw[3]: REJECT in INPUT: ', rejected),
  prefixed('another option of a mount', 'overlayfs: unrecognized mount option "calico-drop: ', logged),
  prefixed('A16 a prefix of an operator’s own', 'flannel-drop: ', dropped),
  prefixed('Calico’s default', 'calico-packet: ', logged),
  prefixed('Calico Enterprise, drop override', 'calico-drop: ', dropped),
  prefixed('Calico, %t of a tier', 'calico-packet security: ', logged),
  prefixed('Calico, "calico-drop %k %p" of a namespaced policy', 'calico-drop np prod/deny: ', {
    ...dropped,
    policy: { namespace: 'prod', name: 'deny' },
  }),
  prefixed('Calico, "calico-drop %k %p" of a global policy', 'calico-drop gnp deny-egress: ', {
    ...dropped,
    policy: { namespace: undefined, name: 'deny-egress' },
  }),
  prefixed('Calico, "calico-drop %k %p" of a Kubernetes policy', 'calico-drop knp prod/web: ', {
    ...dropped,
    policy: { namespace: 'prod', name: 'web' },
  }),
  // Felix 3.32.1 printed these. iptables keeps 29 characters.
  prefixed('Calico, name as long as there is room for', 'calico-drop np shop/postgres:', {
    ...dropped,
    policy: { namespace: 'shop', name: 'postgres' },
  }),
  prefixed('Calico, cut within the name, touches IN=', 'calico-drop np shop/default.p', {
    ...dropped,
    policy: { namespace: 'shop', name: 'default.p…' },
  }),
  prefixed('Calico, cut at a hyphen', 'calico-drop gnp default.deny-', {
    ...dropped,
    policy: { namespace: undefined, name: 'default.deny-…' },
  }),
  prefixed('Calico, %t %k %n %p, cut in the first name', 'calico-drop default gnp defau', {
    ...dropped,
    policy: { namespace: undefined, name: 'defau…', tier: 'default' },
  }),
  prefixed('Calico, %t %k %p, one character of the name', 'calico-drop default np shop/d', {
    ...dropped,
    policy: { namespace: 'shop', name: 'd…', tier: 'default' },
  }),
  prefixed('Calico, %t %k %n %p, nftables', 'calico-drop default gnp deny-out deny-out: ', {
    ...dropped,
    policy: { namespace: undefined, name: 'deny-out', tier: 'default' },
  }),
  prefixed('Calico, %t-%n without a kind names no policy', 'calico-drop default-default.d', {
    ...dropped,
    policy: undefined,
  }),
  prefixed('UFW BLOCK', '[UFW BLOCK] ', dropped),
  prefixed('UFW LIMIT BLOCK, before a REJECT', '[UFW LIMIT BLOCK] ', { ...rejected, enforcer: 'host-firewall' }),
  prefixed('ufw-docker', '[UFW DOCKER BLOCK] ', { ...dropped, enforcer: 'host-firewall' }),
  prefixed('UFW AUDIT INVALID', '[UFW AUDIT INVALID] ', logged),
  prefixed('UFW ALLOW', '[UFW ALLOW] ', accepted),
  prefixed('Shorewall DROP touches IN=', 'Shorewall:net2fw:DROP:', dropped),
  prefixed('Shorewall REJECT touches IN=', 'Shorewall:loc-net:REJECT:', rejected),
  prefixed('Shorewall ACCEPT touches IN=', 'Shorewall:fw-net:ACCEPT:', accepted),
  prefixed('FireHOL, quoted', "'IN-internet':", logged),
  prefixed('FireHOL, what no router matches', "'PASS-unknown:'", { ...dropped, enforcer: 'host-firewall' }),
  prefixed('FireHOL 1.x, what no interface matches', 'IN-unknown:', { ...dropped, enforcer: 'host-firewall' }),
  prefixed('FireHOL, bad packets', 'BLOCKED INVALID PACKET:', dropped),
  prefixed('CSF, TCP in', 'Firewall: *TCP_IN Blocked* ', dropped),
  prefixed('CSF, UDP out', 'Firewall: *UDP_OUT Blocked* ', dropped),
  prefixed('firewalld, forwarding', 'filter_FWD_public_REJECT: ', rejected),
  prefixed('firewalld, quoted', '"filter_IN_trusted_DROP: "', dropped),
  prefixed('firewalld, a policy', 'filter_FWD_policy_allow-host-ipv6_DROP: ', {
    ...dropped,
    enforcer: 'host-firewall',
    policy: { kind: 'firewalld policy', name: 'allow-host-ipv6' },
  }),
  prefixed('firewalld, a policy, of an older release', 'FWD_policy_allow-host-ipv6_ACCEPT: ', {
    ...accepted,
    policy: { kind: 'firewalld policy', name: 'allow-host-ipv6' },
  }),
  prefixed('firewalld, a zone with an underscore', 'filter_IN_k8s_pods_REJECT: ', {
    ...rejected,
    enforcer: 'host-firewall',
    policy: { kind: 'firewalld zone', name: 'k8s_pods' },
  }),
  prefixed('a chain of one’s own that is no zone', 'FW_IN_BAD_TCP_DROP: ', { ...dropped, enforcer: 'unknown' }),
  prefixed('firewalld, reverse path', 'rpfilter_DROP: ', { ...dropped, enforcer: 'host-firewall' }),
  prefixed('firewalld, 6to4', 'RFC3964_IPv4_REJECT: ', { ...rejected, enforcer: 'host-firewall' }),
  prefixed('firewalld, invalid state', 'STATE_INVALID_DROP: ', dropped),
  prefixed('firewalld, last rule', 'FINAL_REJECT: ', rejected),
  prefixed('OpenWrt, reject', 'reject wan in: ', rejected),
  prefixed('OpenWrt, drop', 'DROP wan in: ', dropped),
  prefixed('OpenWrt, forwarded', 'reject wan forward: ', rejected),
  prefixed('VyOS, default drop', '[ipv4-FWD-filter-default-D]', dropped),
  prefixed('VyOS, a rule that rejects', '[ipv4-NAM-LAN-20-R]', rejected),
  prefixed('VyOS, a rule that accepts', '[ipv4-INP-filter-10-A]', accepted),
  prefixed('docker', '[DOCKER-USER DROP] ', dropped),
  prefixed('libvirt', 'libvirt-out-DENIED: ', dropped),
  prefixed('an operator’s denial', 'iptables denied: ', dropped),
  prefixed('nftables, dropped', '[nftables] Inbound Denied: ', dropped),
  prefixed('nftables, a lower-case verdict', 'nft-drop-forward ', dropped),
  // A word counts where it stands whole; of a compound, its end and its parts in camel case.
  prefixed('a name that begins like a verdict, before a verdict', 'dropbox-allow: ', accepted),
  prefixed('the same in camel case', 'DropBox-allow: ', accepted),
  prefixed('a name that ends like a verdict, before a verdict', 'airdrop-allow: ', accepted),
  prefixed('a name that begins like a verdict, before the same', 'dropbox-drop: ', dropped),
  ...['dropbox', 'dropin', 'blockchain', 'rejectionist', 'denyhosts', 'allowance', 'fail2ban', 'urban'].map((word) =>
    prefixed(`a word that only begins or ends like a verdict: ${word}`, `${word}: `, logged),
  ),
  prefixed('a verdict within a firewalld-like chain’s name', 'OUT_to_DROPBOX: ', logged),
  ...['drop', 'DROP', 'Drop', 'dROPPED', 'dropped', 'droped', 'drops', 'dropping', 'drop2', '2-drop', 'fw_drop_in'].map(
    (word) => prefixed(`a word for drop: ${word}`, `${word}: `, dropped),
  ),
  ...[
    'deny',
    'DENIED',
    'denies',
    'block',
    'blocked',
    'BLOCKED',
    'discarded',
    'prohibited',
    'disallowed',
    'ban',
    'banned',
  ].map((word) => prefixed(`another word for drop: ${word}`, `k8s-${word} `, dropped)),
  ...['reject', 'REJECTED', 'rejects', 'refused', 'FW_REJECT', 'reject.log'].map((word) =>
    prefixed(`a word for reject: ${word}`, `${word}: `, rejected),
  ),
  ...['accept', 'ACCEPTED', 'allowed', 'permitted', 'pass', 'passed'].map((word) =>
    prefixed(`a word for accept: ${word}`, `fw-${word}: `, accepted),
  ),
  ...['LOGDROP', 'IPTDROP', 'LOGDROPPED2', 'logdrop', 'DropInvalid', 'dropIN', 'DROPInvalid', 'FwDrop', 'TEARDROP'].map(
    (word) => prefixed(`a compound about dropping: ${word}`, `${word} `, dropped),
  ),
  prefixed('a compound about rejecting', 'LOGREJECT: ', rejected),
  prefixed('a compound about accepting', 'LogAccept: ', accepted),
  // Whoever keeps a list of what is blocked blocks it.
  prefixed('a list of the blocked', 'Blocklist ipsum: ', dropped),
  ...[
    'no-drop',
    'NODROP',
    'not dropped',
    'non-drop',
    'unblocked',
    'not-allowed',
    'not in blocklist',
    'not to be dropped',
    'drop-not',
  ].map((word) => prefixed(`a word that is negated: ${word}`, `${word}: `, logged)),
  ...['blocklist-ok', 'DROP_OK', 'drop=0', 'dropped=no', 'rejects=0', 'LOGDROP=0', 'logdrop-ok'].map((word) =>
    prefixed(`a word that is taken back: ${word}`, `${word}: `, logged),
  ),
  ...['drop=1', 'drop-okta', 'DROP NOT SYN', 'NEW NOT SYN DROP', 'drop=0x2a', 'not-in-set drop'].map((word) =>
    prefixed(`a word that is not taken back: ${word}`, `${word}: `, dropped),
  ),
  ...['backdrop', 'raindrop', 'Raindrops', 'AIRDROP', 'eavesdrop', 'roadblock', 'fw-sunblock'].map((word) =>
    prefixed(`another word that ends like one for drop: ${word}`, `${word}: `, logged),
  ),
  prefixed('the harsher word wins: drop over accept', 'not-allowed-drop: ', dropped),
  prefixed('the harsher word wins: drop over accept, in any order', 'denied-list-accept: ', dropped),
  prefixed('the harsher word wins: reject over drop', 'drop-or-reject: ', rejected),
  prefixed('TRACE names its rule', 'TRACE: raw:PREROUTING:rule:2 ', logged),
  prefixed('no prefix at all', '', logged),
  prefixed('a prefix that says nothing', 'hello: ', logged),
  prefixed('umlauts', 'größer-drop: ', dropped),
  {
    id: 'umlauts as bytes',
    text: Buffer.from('größer-drop: ', 'utf8').toString('latin1') + syn,
    expected: { ...synFlow, prefix: 'größer-drop:', ...dropped },
  },
  {
    id: 'k3s names the policy, through ulogd: the mark has no 0x',
    text: 'DROP by policy default/test-network-policy IN=cni0 OUT=cni0 MAC=a6:7c:4a:00:00:01:06:15:37:00:00:02:08:00 SRC=10.42.0.9 DST=10.42.0.10 LEN=60 TOS=00 PREC=0x00 TTL=64 ID=18210 DF PROTO=TCP SPT=35218 DPT=80 SEQ=949388975 ACK=0 WINDOW=62377 SYN URGP=0 MARK=2a ',
    expected: {
      kind: 'packet',
      verdict: 'dropped',
      policy: { kind: 'NetworkPolicy', namespace: 'default', name: 'test-network-policy' },
      mark: 0x2a,
      packet: { source: '10.42.0.9', destination: '10.42.0.10', tcpFlags: 2 },
    },
  },
];
