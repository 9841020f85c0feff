import type { SignRow } from './sign-row.ts';

const time = '2026-03-14 09:15:20.101';
const warning = `${time} [WARNING][61] felix/table.go`;
const restore = `${warning} 1543: Failed to execute ip(6)tables-restore command error=exit status 2`;

/** Lines that the parts of calico-node print when something fails. */
export const calicoLines: readonly SignRow[] = [
  // KN104 to KN106, from felix
  {
    name: 'felix waits for the lock',
    text: `${restore} errorOutput="Another app is currently holding the xtables lock. Stopped waiting after 10s.\\n" input="*filter\\n" ipVersion=0x4 output="" table="filter"`,
    sign: { code: 'KN104', failing: 'felix', family: 'IPv4' },
  },
  {
    name: 'rpfilter',
    text: `felix/table.go 1321: Failed to execute ip(6)tables-restore command error=exit status 2 errorOutput="iptables-restore v1.8.4 (legacy): Couldn't load match \`rpfilter':No such file or directory\\n\\nError occurred at line: 10\\n"`,
    sign: { code: 'KN105', subject: 'ipt_rpfilter', backend: 'legacy', failing: 'felix' },
  },
  {
    name: 'rpfilter for IPv6',
    text: `${restore} errorOutput="ip6tables-restore v1.8.4 (nf_tables): Couldn't load match \`rpfilter':No such file or directory\\n" ipVersion=0x6 table="raw"`,
    sign: { code: 'KN105', subject: 'ip6t_rpfilter', family: 'IPv6', backend: 'nf_tables' },
  },
  {
    name: 'MARK is broken',
    text: String.raw`Failed to execute ip(6)tables-restore command error=exit status 2 errorOutput=... MARK: bad value for option \"--set-mark\", or out of range (0–4294967295)...`,
    sign: { code: 'KN105', subject: 'xt_mark' },
  },
  {
    name: 'a set match',
    text: `${restore} errorOutput="iptables-restore v1.8.4 (legacy): Couldn't load match \`set':No such file or directory\\n" ipVersion=0x4 table="filter"`,
    sign: { code: 'KN105', subject: 'xt_set' },
  },
  {
    name: 'an argument that is none',
    text: `${restore} errorOutput="iptables-restore v1.8.4 (legacy): Bad argument \`cali-fw-cali12d4a061371'\\nError occurred at line: 8\\n" ipVersion=0x4 table="filter"`,
    sign: { code: 'KN106', subject: 'cali-fw-cali12d4a061371', failing: 'felix' },
  },
  // KN201
  {
    name: 'a restore fails, reason unknown',
    text: `${restore} errorOutput="iptables-restore v1.8.4 (legacy): Couldn't load target \`cali-POSTROUTING':No such file or directory\\n\\nError occurred at line: 3\\n" ipVersion=0x4 table="nat"`,
    sign: {
      code: 'KN201',
      subject: 'nat',
      quote: "iptables-restore v1.8.4 (legacy): Couldn't load target `cali-POSTROUTING':No such file or directory",
    },
  },
  {
    name: 'it will retry',
    text: `${warning} 1165: Failed to program iptables, will retry error=exit status 1 ipVersion=0x4 table="filter"`,
    sign: { code: 'KN201', subject: 'filter' },
  },
  {
    name: 'save fails',
    text: `${warning} 816: iptables save failed error=exit status 1`,
    sign: { code: 'KN201', subject: undefined },
  },
  {
    name: 'save fails, by its name',
    text: `${warning} 765: iptables-legacy-save command failed error=exit status 1 ipVersion=0x4 stderr="" table="filter"`,
    sign: { code: 'KN201', backend: 'legacy', family: 'IPv4', subject: 'filter' },
  },
  {
    name: 'save fails, nft',
    text: `${warning} 896: ip6tables-nft-save command failed error=exit status 1 ipVersion=0x6 stderr="" table="mangle"`,
    sign: { code: 'KN201', backend: 'nf_tables', family: 'IPv6' },
  },
  {
    name: 'an nft transaction',
    text: `${time} [ERROR][61] felix/table.go 1504: Failed to run nft transaction error=/dev/stdin:4:1-2: Error: Could not process rule: Invalid argument family="ip" table="calico"`,
    sign: { code: 'KN201', failing: 'felix' },
  },
  {
    name: 'IP sets',
    text: `${time} [WARNING][61] felix/ipsets.go 992: Failed to complete ipset restore, IP sets may be out-of-sync. error=exit status 1 family="inet" output=""`,
    sign: { code: 'KN201', subject: 'IP sets', family: 'IPv4' },
  },
  // KN202
  {
    name: 'save fails for good',
    text: `${time} [PANIC][61] felix/table.go 771: iptables-legacy-save command failed after retries ipVersion=0x4 table="filter"`,
    sign: { code: 'KN202', subject: 'filter', backend: 'legacy' },
  },
  {
    name: 'gives up, old',
    text: '2017-03-08 11:55:28.244 [PANIC][1274] table.go 695: Failed to program iptables, giving up after retries error=exit status 2 ipVersion=0x4 table="filter"',
    sign: { code: 'KN202', family: 'IPv4', failing: 'felix' },
  },
  {
    name: 'loads diags',
    text: `${time} [ERROR][61] felix/table.go 1176: Failed to program iptables, loading diags before panic. error=exit status 2 ipVersion=0x6 table="raw"`,
    sign: { code: 'KN202', family: 'IPv6', subject: 'raw' },
  },
  {
    name: 'gives up, nftables',
    text: `${time} [PANIC][61] felix/table.go 1188: Failed to program nftables, giving up after retries error=error performing nft transaction: exit status 1`,
    sign: { code: 'KN202' },
  },
  {
    name: 'IP sets for good',
    text: `${time} [PANIC][61] felix/ipsets.go 448: Failed to update IP sets after multiple retries. family="inet"`,
    sign: { code: 'KN202' },
  },
  // KN203
  {
    name: 'foreign rules',
    text: `${time} [ERROR][61] felix/table.go 1008: iptables-save failed because there are incompatible nft rules in the table.  Remove the nft rules to continue. ipVersion=0x4 table="filter"`,
    sign: { code: 'KN203', subject: 'filter' },
  },
  {
    name: 'foreign rules, as the reason',
    text: `${warning} 896: iptables-nft-save command failed error=iptables-save failed because there are incompatible nft rules in the table ipVersion=0x4 stderr="" table="nat"`,
    sign: { code: 'KN203', subject: 'nat', backend: 'nf_tables' },
  },
  {
    name: 'foreign rules, as iptables says it',
    text: `${restore} errorOutput="iptables-restore v1.8.7 (nf_tables): table \`filter' is incompatible, use 'nft' tool.\\n" ipVersion=0x4 table="filter"`,
    sign: { code: 'KN203' },
  },
  // KN204
  {
    name: 'inserts',
    text: `${warning} 654: Detected out-of-sync inserts, marking for resync actualRuleIDs=[]string{"", "", "tVnHkvAo15HuiPy0"} chainName="OUTPUT" expectedRuleIDs=[]string{"tVnHkvAo15HuiPy0", "", ""} ipVersion=0x4 table="raw"`,
    sign: { code: 'KN204', subject: 'OUTPUT', family: 'IPv4' },
  },
  {
    name: 'a chain',
    text: `${warning} 790: Detected out-of-sync Calico chain, marking for resync chainName="cali-FORWARD" ipVersion=0x6 table="filter"`,
    sign: { code: 'KN204', subject: 'cali-FORWARD', family: 'IPv6' },
  },
  {
    name: 'unexpected inserts',
    text: `${warning} 765: Chain had unexpected inserts, marking for resync actualRuleIDs=[]string{"abc"} chainName="INPUT" ipVersion=0x4 table="nat"`,
    sign: { code: 'KN204', subject: 'INPUT' },
  },
  // KN206
  {
    name: 'dummy profile, syslog',
    text: 'calico-felix[28936]: WARNING active_rules_calculator.go 260: Profile not known or invalid, generating dummy profile that drops all traffic. profileID="prof-093',
    sign: { code: 'KN206', subject: 'prof-093' },
  },
  {
    name: 'dummy profile',
    text: `${time} [WARNING][61] active_rules_calculator.go 326: Profile not known or invalid, generating dummy profile that drops all traffic. profileID="kns.shop"`,
    sign: { code: 'KN206', subject: 'kns.shop' },
  },
  {
    name: 'drop rules',
    text: `${time} [WARNING][61] felix/active_rules_calculator.go 345: End of resync: local endpoints refer to missing or invalid profile, profile's rules replaced with drop rules. profileID="kns.bank"`,
    sign: { code: 'KN206', subject: 'kns.bank' },
  },
  // KN207
  {
    name: 'no route to the Service of the API',
    text: `${time} [ERROR][1] kube-controllers/client.go 320: Error getting cluster information config ClusterInformation="default" error=Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default": dial tcp 10.96.0.1:443: connect: no route to host`,
    sign: { code: 'KN207', subject: '10.96.0.1:443' },
  },
  {
    name: 'Typha',
    text: `${time} [ERROR][61] felix/daemon.go 581: Failed to connect to Typha. error=dial tcp 10.0.1.4:5473: connect: connection refused`,
    sign: { code: 'KN207', subject: '10.0.1.4:5473', failing: 'felix' },
  },
  {
    name: 'at the start, information',
    text: `${time} [INFO][9] startup/startup.go 574: Hit error connecting to datastore - retry error=Get "https://10.96.0.1:443/api/v1/nodes/foo": dial tcp 10.96.0.1:443: i/o timeout`,
    sign: { code: 'KN207', failing: 'calico-node' },
  },
  // KN301
  {
    name: 'no session',
    text: `${time} [INFO][3875] confd/health.go 180: Number of node(s) with BGP peering established = 0`,
    sign: { code: 'KN301', subject: undefined },
  },
  {
    name: 'not established',
    text: 'calico/node is not ready: BIRD is not ready: BGP not established with 10.0.1.1,10.0.1.2',
    sign: { code: 'KN301', subject: '10.0.1.1' },
  },
  {
    name: 'bird does not run',
    text: 'calico/node is not ready: BIRD is not ready: Error querying BIRD: unable to connect to BIRDv4 socket: dial unix /var/run/bird/bird.ctl: connect: no such file or directory',
    sign: { code: 'KN301', family: 'IPv4' },
  },
  {
    name: 'not live',
    text: 'calico/node is not ready: bird/confd is not live: exit status 1',
    sign: { code: 'KN301' },
  },
  {
    name: 'BIRD6',
    text: 'calico/node is not ready: BIRD6 is not ready: BGP not established with fd00:1::2',
    sign: { code: 'KN301', subject: 'fd00:1::2' },
  },
  {
    name: 'waiting',
    text: `${time} [WARNING][71] status-reporter/startup.go 292: Calico is not ready yet, waiting... reason="calico/node is not ready: BIRD is not ready: BGP not established with 10.0.1.1"`,
    sign: { code: 'KN301', subject: '10.0.1.1' },
  },
  {
    name: 'hold timer',
    text: 'bird: Mesh_10_0_1_7: Error: Hold timer expired',
    sign: { code: 'KN301', subject: '10.0.1.7', failing: 'bird' },
  },
  {
    name: 'hold timer of the peer, svlogd',
    text: '2026-03-14_09:15:27.75862 bird: Node_10_0_1_7: Received: Hold timer expired',
    sign: { code: 'KN301', subject: '10.0.1.7' },
  },
  // KN302
  {
    name: 'an unknown peer',
    text: 'bird: BGP: Unexpected connect from unknown address 10.252.21.153 (port 27467)',
    sign: {
      code: 'KN302',
      subject: '10.252.21.153',
      quote: 'BGP: Unexpected connect from unknown address 10.252.21.153 (port 27467)',
    },
  },
  {
    name: 'an unknown peer, svlogd',
    text: '2026-03-14_09:15:27.75862 bird: BGP: Unexpected connect from unknown address 10.0.9.9 (port 179)',
    sign: { code: 'KN302', subject: '10.0.9.9' },
  },
  {
    name: 'an unknown peer, IPv6',
    text: 'bird6: BGP: Unexpected connect from unknown address fe80::1%eth0 (port 33333)',
    sign: { code: 'KN302', subject: 'fe80::1' },
  },
  // KN117
  {
    name: 'felix panics',
    text: `${time} [PANIC][61] felix/int_dataplane.go 596: Unable to detect host MTU, shutting down error=no interfaces`,
    sign: { code: 'KN117', failing: 'felix' },
  },
  {
    name: 'confd dies',
    text: `${time} [FATAL][59] confd/client.go 1813: Watch prefix check for unknown prefix: /x`,
    sign: { code: 'KN117', failing: 'confd' },
  },
  // Syncs
  {
    name: 'succeeded',
    text: `${warning} 1188: Succeeded after retry. ipVersion=0x4 table="filter"`,
    sign: { sync: 'sync-complete', family: 'IPv4' },
  },
  {
    name: 'first update',
    text: `${time} [INFO][61] felix/int_dataplane.go 2585: Completed first update to dataplane. secsSinceStart=1.2`,
    sign: { sync: 'sync-complete' },
  },
];
