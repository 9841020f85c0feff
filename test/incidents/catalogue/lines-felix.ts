import type { SignRow } from './sign-row.ts';

const time = '2026-11-21 15:23:57.942';
const warning = `${time} [WARNING][61] felix/table.go`;
const restore = `${warning} 1460: Failed to execute ip(6)tables-restore command`;
const retry = `${warning} 1097: Failed to program iptables, will retry`;

/** Printed by felix 3.32.1, nearly all of it as a real one did that was given the problem; long inputs are cut. */
export const felixLines: readonly SignRow[] = Object.entries<[text: string, sign: SignRow['sign']]>({
  'the lock is held for 15 s': [
    String.raw`${restore} error=exit status 4 errorOutput="Ignoring deprecated --wait-interval option.\nCan't lock /run/xtables.lock: Resource temporarily unavailable\nAnother app is currently holding the xtables lock. Stopped waiting after 10s.\n" input="*filter\n:cali-pi-gnp/default.touch - -\nCOMMIT\n" ipVersion=0x4 output="" table="filter"`,
    {
      code: 'KN104',
      family: 'IPv4',
      quote: 'Another app is currently holding the xtables lock. Stopped waiting after 10s.',
    },
  ],
  'the same, what felix makes of it': [
    `${retry} error=writing out buffer: exit status 4 ipVersion=0x4 table="filter"`,
    { code: 'KN201', subject: 'filter', quote: 'Failed to program iptables, will retry' },
  ],
  'the lock is free': [
    `${warning} 1116: Succeeded after retry. ipVersion=0x6 table="filter"`,
    { sync: 'sync-complete', family: 'IPv6' },
  ],
  'a match is missing': [
    String.raw`${restore} error=exit status 2 errorOutput="iptables-restore v1.8.9 (legacy): Couldn't load match ${'`'}rpfilter':No such file or directory\n\nError occurred at line: 10\nTry ${'`'}iptables-restore -h' or 'iptables-restore --help' for more information.\n" input="*filter\n-R cali-pi-gnp/default.touch 1 -m comment --comment \"cali:_B64bl5_jJhHuWM6\" -p tcp --jump MARK --set-mark 0x10000/0x10000\nCOMMIT\n" ipVersion=0x4 output="" table="filter"`,
    { code: 'KN105', subject: 'ipt_rpfilter', family: 'IPv4', backend: 'legacy' },
  ],
  'it gives up': [
    `${time} [PANIC][61] felix/table.go 1112: Failed to program iptables, giving up after retries error=writing out buffer: exit status 2 ipVersion=0x6 table="filter"`,
    { code: 'KN202', subject: 'filter', quote: 'Failed to program iptables, giving up after retries' },
  ],
  'a rule that iptables-nft-save cannot parse': [
    `${warning} 839: iptables-nft-save command failed error=exit status 3 ipVersion=0x4 stderr="" table="filter"`,
    { code: 'KN203', subject: 'filter', family: 'IPv4', backend: 'nf_tables' },
  ],
  'legacy ends with 3 for other reasons': [
    `${warning} 839: ip6tables-legacy-save command failed error=exit status 3 ipVersion=0x6 stderr="" table="filter"`,
    { code: 'KN201', family: 'IPv6' },
  ],
  'another status': [
    `${warning} 839: iptables-nft-save command failed error=exit status 4 ipVersion=0x4 stderr="" table="filter"`,
    { code: 'KN201', subject: 'filter' },
  ],
  'iptables -F': [
    `${warning} 728: Detected out-of-sync inserts, marking for resync actualRuleIDs=[]string{} chainName="OUTPUT" expectedRuleIDs=[]string{"tVnHkvAo15HuiPy0"} ipVersion=0x4 table="filter"`,
    { code: 'KN204', subject: 'OUTPUT' },
  ],
  'an ACCEPT was put before its rules': [
    `${warning} 728: Detected out-of-sync inserts, marking for resync actualRuleIDs=[]string{"", "wUHhoiAYhphO9Mso", "S93hcgKJrXEqnTfs"} chainName="FORWARD" expectedRuleIDs=[]string{"wUHhoiAYhphO9Mso", "", "S93hcgKJrXEqnTfs"} ipVersion=0x4 table="filter"`,
    { code: 'KN204', subject: 'FORWARD' },
  ],
  'nothing: it deletes what kube-proxy has written again': [
    `${warning} 728: Detected out-of-sync inserts, marking for resync actualRuleIDs=[]string{"OLD INSERT RULE", "tVnHkvAo15HuiPy0"} chainName="OUTPUT" expectedRuleIDs=[]string{"tVnHkvAo15HuiPy0"} ipVersion=0x4 table="nat"`,
    undefined,
  ],
  'its table is deleted, nftables': [
    `${warning} 687: Detected out-of-sync Calico chain, marking for resync chainName="raw-cali-rpf-skip" dpHashes=[]string(nil) expectedHashes=[]string{} ipVersion=0x4 table="calico"`,
    { code: 'KN204', subject: 'raw-cali-rpf-skip', family: 'IPv4' },
  ],
  'nft fails': [
    `${warning} 784: nftables command failed error=failed to run nft: /dev/stdin:4:1-2: Error: Could not process rule: Invalid argument\n family="arp" ipVersion=4 stderr="" table="calico-arp"`,
    { code: 'KN201', failing: 'felix' },
  ],
  'nft fails for good': [
    `${time} [PANIC][61] felix/table.go 790: nftables command failed after retries family="arp" ipVersion=4 table="calico-arp"`,
    { code: 'KN202', subject: 'calico-arp' },
  ],
  'its rules are written for the first time': [
    `${time} [INFO][61] felix/int_dataplane.go 2465: Completed first update to dataplane. secsSinceStart=0.595660864`,
    { sync: 'sync-complete' },
  ],
  'nothing: eBPF is on': [
    `${time} [INFO][61] felix/int_dataplane.go 555: BPF enabled, configuring iptables/nftables layer to clean up kube-proxy's rules.`,
    undefined,
  ],
  'nothing: the kernel has no eBPF': [
    `${time} [ERROR][61] felix/daemon.go 376: BPF dataplane mode enabled but not supported by the kernel.  Disabling BPF mode. error=BPF syscall support is not available on this platform`,
    undefined,
  ],
  'nothing: a backend that nobody else uses, which fails nothing by itself': [
    `${time} [WARNING][61] felix/feature_detect_linux.go 387: Iptables backend specified does not match the detected backend, using specified backend detectedBackend="legacy" specifiedBackend="nft"`,
    undefined,
  ],
  'nothing: no device that it takes the MTU of': [
    `${time} [WARNING][61] felix/int_dataplane.go 1562: Failed to auto-detect host MTU - no interfaces matched the MTU interface pattern. To use auto-MTU, set mtuIfacePattern to match your host's interfaces`,
    undefined,
  ],
  'nothing: it prints less than it says': ['... dropped 104 logs ...', undefined],
}).map(([name, [text, sign]]) => ({ name, text, sign }));
