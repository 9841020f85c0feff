import { signRows } from './sign-row.ts';

const time = '2026-03-14 09:15:20.101';
const warning = `${time} [WARNING][61] felix/table.go`;
const restore = `${warning} 1543: Failed to execute ip(6)tables-restore command error=exit status 2`;

/** Lines that the parts of calico-node print when something fails. */
export const calicoLines = signRows({
  KN104: {
    'felix waits for the lock': [
      `${restore} errorOutput="Another app is currently holding the xtables lock. Stopped waiting after 10s.\\n" input="*filter\\n" ipVersion=0x4 output="" table="filter"`,
      { failing: 'felix', family: 'IPv4' },
    ],
  },
  KN105: {
    rpfilter: [
      `felix/table.go 1321: Failed to execute ip(6)tables-restore command error=exit status 2 errorOutput="iptables-restore v1.8.4 (legacy): Couldn't load match \`rpfilter':No such file or directory\\n\\nError occurred at line: 10\\n"`,
      { subject: 'ipt_rpfilter', backend: 'legacy', failing: 'felix' },
    ],
    'rpfilter for IPv6': [
      `${restore} errorOutput="ip6tables-restore v1.8.4 (nf_tables): Couldn't load match \`rpfilter':No such file or directory\\n" ipVersion=0x6 table="raw"`,
      { subject: 'ip6t_rpfilter', family: 'IPv6', backend: 'nf_tables' },
    ],
    'MARK is broken': [
      String.raw`Failed to execute ip(6)tables-restore command error=exit status 2 errorOutput=... MARK: bad value for option \"--set-mark\", or out of range (0–4294967295)...`,
      { subject: 'xt_mark' },
    ],
    'a set match': [
      `${restore} errorOutput="iptables-restore v1.8.4 (legacy): Couldn't load match \`set':No such file or directory\\n" ipVersion=0x4 table="filter"`,
      { subject: 'xt_set' },
    ],
  },
  KN106: {
    'an argument that is none': [
      `${restore} errorOutput="iptables-restore v1.8.4 (legacy): Bad argument \`cali-fw-cali12d4a061371'\\nError occurred at line: 8\\n" ipVersion=0x4 table="filter"`,
      { subject: 'cali-fw-cali12d4a061371', failing: 'felix' },
    ],
  },
  KN201: {
    'a restore fails, reason unknown': [
      `${restore} errorOutput="iptables-restore v1.8.4 (legacy): Couldn't load target \`cali-POSTROUTING':No such file or directory\\n\\nError occurred at line: 3\\n" ipVersion=0x4 table="nat"`,
      {
        subject: 'nat',
        quote: "iptables-restore v1.8.4 (legacy): Couldn't load target `cali-POSTROUTING':No such file or directory",
      },
    ],
    'it will retry': [
      `${warning} 1165: Failed to program iptables, will retry error=exit status 1 ipVersion=0x4 table="filter"`,
      { subject: 'filter' },
    ],
    'save fails': [`${warning} 816: iptables save failed error=exit status 1`, { subject: undefined }],
    'save fails, by its name': [
      `${warning} 765: iptables-legacy-save command failed error=exit status 1 ipVersion=0x4 stderr="" table="filter"`,
      { backend: 'legacy', family: 'IPv4', subject: 'filter' },
    ],
    'save fails, nft': [
      `${warning} 896: ip6tables-nft-save command failed error=exit status 1 ipVersion=0x6 stderr="" table="mangle"`,
      { backend: 'nf_tables', family: 'IPv6' },
    ],
    'an nft transaction': [
      `${time} [ERROR][61] felix/table.go 1504: Failed to run nft transaction error=/dev/stdin:4:1-2: Error: Could not process rule: Invalid argument family="ip" table="calico"`,
      { failing: 'felix' },
    ],
    'IP sets': [
      `${time} [WARNING][61] felix/ipsets.go 992: Failed to complete ipset restore, IP sets may be out-of-sync. error=exit status 1 family="inet" output=""`,
      { subject: 'IP sets', family: 'IPv4' },
    ],
  },
  KN202: {
    'save fails for good': [
      `${time} [PANIC][61] felix/table.go 771: iptables-legacy-save command failed after retries ipVersion=0x4 table="filter"`,
      { subject: 'filter', backend: 'legacy' },
    ],
    'gives up, old': [
      '2017-03-08 11:55:28.244 [PANIC][1274] table.go 695: Failed to program iptables, giving up after retries error=exit status 2 ipVersion=0x4 table="filter"',
      { family: 'IPv4', failing: 'felix' },
    ],
    'loads diags': [
      `${time} [ERROR][61] felix/table.go 1176: Failed to program iptables, loading diags before panic. error=exit status 2 ipVersion=0x6 table="raw"`,
      { family: 'IPv6', subject: 'raw' },
    ],
    'gives up, nftables': `${time} [PANIC][61] felix/table.go 1188: Failed to program nftables, giving up after retries error=error performing nft transaction: exit status 1`,
    'IP sets for good': `${time} [PANIC][61] felix/ipsets.go 448: Failed to update IP sets after multiple retries. family="inet"`,
  },
  KN203: {
    'foreign rules': [
      `${time} [ERROR][61] felix/table.go 1008: iptables-save failed because there are incompatible nft rules in the table.  Remove the nft rules to continue. ipVersion=0x4 table="filter"`,
      { subject: 'filter' },
    ],
    'foreign rules, as the reason': [
      `${warning} 896: iptables-nft-save command failed error=iptables-save failed because there are incompatible nft rules in the table ipVersion=0x4 stderr="" table="nat"`,
      { subject: 'nat', backend: 'nf_tables' },
    ],
    'foreign rules, as iptables says it': `${restore} errorOutput="iptables-restore v1.8.7 (nf_tables): table \`filter' is incompatible, use 'nft' tool.\\n" ipVersion=0x4 table="filter"`,
  },
  KN204: {
    inserts: [
      `${warning} 654: Detected out-of-sync inserts, marking for resync actualRuleIDs=[]string{"", "", "tVnHkvAo15HuiPy0"} chainName="OUTPUT" expectedRuleIDs=[]string{"tVnHkvAo15HuiPy0", "", ""} ipVersion=0x4 table="raw"`,
      { subject: 'OUTPUT', family: 'IPv4' },
    ],
    'a chain': [
      `${warning} 790: Detected out-of-sync Calico chain, marking for resync chainName="cali-FORWARD" ipVersion=0x6 table="filter"`,
      { subject: 'cali-FORWARD', family: 'IPv6' },
    ],
    'unexpected inserts': [
      `${warning} 765: Chain had unexpected inserts, marking for resync actualRuleIDs=[]string{"abc"} chainName="INPUT" ipVersion=0x4 table="nat"`,
      { subject: 'INPUT' },
    ],
  },
  KN206: {
    'dummy profile, syslog': [
      'calico-felix[28936]: WARNING active_rules_calculator.go 260: Profile not known or invalid, generating dummy profile that drops all traffic. profileID="prof-093',
      { subject: 'prof-093' },
    ],
    'dummy profile': [
      `${time} [WARNING][61] active_rules_calculator.go 326: Profile not known or invalid, generating dummy profile that drops all traffic. profileID="kns.shop"`,
      { subject: 'kns.shop' },
    ],
    'drop rules': [
      `${time} [WARNING][61] felix/active_rules_calculator.go 345: End of resync: local endpoints refer to missing or invalid profile, profile's rules replaced with drop rules. profileID="kns.bank"`,
      { subject: 'kns.bank' },
    ],
  },
  KN207: {
    'no route to the Service of the API': [
      `${time} [ERROR][1] kube-controllers/client.go 320: Error getting cluster information config ClusterInformation="default" error=Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default": dial tcp 10.96.0.1:443: connect: no route to host`,
      { subject: '10.96.0.1:443' },
    ],
    Typha: [
      `${time} [ERROR][61] felix/daemon.go 581: Failed to connect to Typha. error=dial tcp 10.0.1.4:5473: connect: connection refused`,
      { subject: '10.0.1.4:5473', failing: 'felix' },
    ],
    'at the start, information': [
      `${time} [INFO][9] startup/startup.go 574: Hit error connecting to datastore - retry error=Get "https://10.96.0.1:443/api/v1/nodes/foo": dial tcp 10.96.0.1:443: i/o timeout`,
      { failing: 'calico-node' },
    ],
  },
  KN301: {
    'no session': [
      `${time} [INFO][3875] confd/health.go 180: Number of node(s) with BGP peering established = 0`,
      { subject: undefined },
    ],
    'not established': [
      'calico/node is not ready: BIRD is not ready: BGP not established with 10.0.1.1,10.0.1.2',
      { subject: '10.0.1.1' },
    ],
    'bird does not run': [
      'calico/node is not ready: BIRD is not ready: Error querying BIRD: unable to connect to BIRDv4 socket: dial unix /var/run/bird/bird.ctl: connect: no such file or directory',
      { family: 'IPv4' },
    ],
    'not live': 'calico/node is not ready: bird/confd is not live: exit status 1',
    BIRD6: [
      'calico/node is not ready: BIRD6 is not ready: BGP not established with fd00:1::2',
      { subject: 'fd00:1::2' },
    ],
    waiting: [
      `${time} [WARNING][71] status-reporter/startup.go 292: Calico is not ready yet, waiting... reason="calico/node is not ready: BIRD is not ready: BGP not established with 10.0.1.1"`,
      { subject: '10.0.1.1' },
    ],
    'hold timer': ['bird: Mesh_10_0_1_7: Error: Hold timer expired', { subject: '10.0.1.7', failing: 'bird' }],
    'hold timer of the peer, svlogd': [
      '2026-03-14_09:15:27.75862 bird: Node_10_0_1_7: Received: Hold timer expired',
      { subject: '10.0.1.7' },
    ],
  },
  KN302: {
    'an unknown peer': [
      'bird: BGP: Unexpected connect from unknown address 10.252.21.153 (port 27467)',
      { subject: '10.252.21.153', quote: 'BGP: Unexpected connect from unknown address 10.252.21.153 (port 27467)' },
    ],
    'an unknown peer, svlogd': [
      '2026-03-14_09:15:27.75862 bird: BGP: Unexpected connect from unknown address 10.0.9.9 (port 179)',
      { subject: '10.0.9.9' },
    ],
    'an unknown peer, IPv6': [
      'bird6: BGP: Unexpected connect from unknown address fe80::1%eth0 (port 33333)',
      { subject: 'fe80::1' },
    ],
  },
  KN117: {
    'felix panics': [
      `${time} [PANIC][61] felix/int_dataplane.go 596: Unable to detect host MTU, shutting down error=no interfaces`,
      { failing: 'felix' },
    ],
    'confd dies': [
      `${time} [FATAL][59] confd/client.go 1813: Watch prefix check for unknown prefix: /x`,
      { failing: 'confd' },
    ],
  },
  syncs: {
    succeeded: [
      `${warning} 1188: Succeeded after retry. ipVersion=0x4 table="filter"`,
      { sync: 'sync-complete', family: 'IPv4' },
    ],
    'first update': [
      `${time} [INFO][61] felix/int_dataplane.go 2585: Completed first update to dataplane. secsSinceStart=1.2`,
      { sync: 'sync-complete' },
    ],
  },
});
