import { signRows } from './sign-row.ts';

const chain = 'KUBE-SVC-Q5DTBKX2YJ7RCW6N';
const at = (place: string) => `E0314 09:15:20.101234       1 ${place}] `;
const restore = `${at('proxier.go:1564')}"Failed to execute iptables-restore"`;
const jumps = `${at('proxier.go:710')}"Failed to ensure chain jumps"`;

/** Lines that kube-proxy 1.4 to 1.36 prints when it cannot write its rules. */
export const kubeProxyLines = signRows({
  KN102: {
    'a service chain, klog block, tabs': [
      `${restore} err=<\n\texit status 2: Ignoring deprecated --wait-interval option.\n\tiptables-restore v1.8.8 (legacy): Couldn't load target \`${chain}':No such file or directory\n\t\n\tError occurred at line: 41\n > ipFamily="IPv4"`,
      {
        subject: chain,
        family: 'IPv4',
        backend: 'legacy',
        failing: 'kube-proxy',
        quote: `iptables-restore v1.8.8 (legacy): Couldn't load target \`${chain}':No such file or directory`,
      },
    ],
    'a service chain, viewer, spaces': [
      `${restore} err=\n    exit status 2: iptables-restore v1.8.8 (legacy): Couldn't load target \`KUBE-SEP-SXIVWICOYRO3J4NJ':No such file or directory\n > ipFamily="IPv6"`,
      { subject: 'KUBE-SEP-SXIVWICOYRO3J4NJ', family: 'IPv6' },
    ],
    'a service chain, JSON': [
      `{"ts":1795226670836.5,"caller":"iptables/proxier.go:1406","msg":"Failed to execute iptables-restore","ipFamily":"IPv4","err":"exit status 2: iptables-restore v1.8.8 (legacy): Couldn't load target \`KUBE-EXT-Q5DTBKX2YJ7RCW6N':No such file or directory\\n\\nError occurred at line: 9\\n"}`,
      { subject: 'KUBE-EXT-Q5DTBKX2YJ7RCW6N', family: 'IPv4' },
    ],
    'a service chain, before structured logging': [
      `${at('proxier.go:1402')}Failed to execute iptables-restore: exit status 2 (iptables-restore v1.6.0: Couldn't load target \`KUBE-XLB-Q5DTBKX2YJ7RCW6N':No such file or directory\n\nError occurred at line: 79\n)`,
      { subject: 'KUBE-XLB-Q5DTBKX2YJ7RCW6N', family: 'IPv4', backend: undefined },
    ],
    'a service chain, iptables-nft': [
      `${restore} err=<\n\texit status 2: ip6tables-restore v1.8.9 (nf_tables): Chain 'KUBE-SVL-Q5DTBKX2YJ7RCW6N' does not exist\n\tError occurred at line: 12\n > ipFamily="IPv6"`,
      { subject: 'KUBE-SVL-Q5DTBKX2YJ7RCW6N', backend: 'nf_tables' },
    ],
    'a service chain, and a warning of an extension before it': [
      `${restore} err="exit status 2: Warning: Extension MARK revision 0 not supported, missing kernel module?\\niptables-restore v1.8.9 (nf_tables): Couldn't load target \`${chain}':No such file or directory\\n" ipFamily="IPv4"`,
      { subject: chain },
    ],
  },
  KN103: {
    'KUBE-MARK-DROP, IPv6': [
      `${at('proxier.go:1306')}Failed to execute iptables-restore: exit status 2 (ip6tables-restore v1.6.2: Couldn't load target \`KUBE-MARK-DROP':No such file or directory\n)`,
      { subject: 'KUBE-MARK-DROP', family: 'IPv6' },
    ],
    'KUBE-MARK-MASQ': [
      `${restore} err="exit status 2: iptables-restore v1.8.8 (legacy): Couldn't load target \`KUBE-MARK-MASQ':No such file or directory\\n" ipFamily="IPv4"`,
      { subject: 'KUBE-MARK-MASQ' },
    ],
    'KUBE-SERVICES while the jump is made': [
      `${jumps} err="error appending rule: exit status 2: iptables v1.8.7 (nf_tables): Chain 'KUBE-SERVICES' does not exist\\n" ipFamily="IPv4" table="nat" srcChain="OUTPUT" dstChain="KUBE-SERVICES"`,
      { subject: 'KUBE-SERVICES' },
    ],
  },
  KN104: {
    'the lock, while a jump is made, old': [
      `${at('proxier.go:732')}Failed to ensure that filter chain INPUT jumps to KUBE-EXTERNAL-SERVICES: error checking rule: exit status 4: Another app is currently holding the xtables lock. Stopped waiting after 5s.`,
      { subject: undefined },
    ],
    "kube-proxy's own lock": [
      `${at('proxier.go:1429')}Failed to execute iptables-restore: failed to acquire new iptables lock: timed out waiting for the condition`,
      { quote: 'failed to acquire new iptables lock: timed out waiting for the condition' },
    ],
    'the lock file is a directory': `${at('proxier.go:1507')}Failed to execute iptables-restore: failed to open iptables lock /run/xtables.lock: open /run/xtables.lock: is a directory`,
    'the lock file cannot be opened': [
      `${restore} err=<\n\texit status 4: Fatal: can't open lock file /run/xtables.lock: Permission denied\n > ipFamily="IPv4"`,
      { quote: "exit status 4: Fatal: can't open lock file /run/xtables.lock: Permission denied" },
    ],
    'the lock, quotes damaged by a scan': `${at('proxier.go:1447')}"Failed to execute iptables-restore" err=‹exit status 4: Ignoring deprecated--wait-interval option.\nCan't lock /run/xtables. lock: Resource temporarily unavailable  Another app currently holding the xtables lock.\nStopped waiting after 5s.`,
    'the lock, canary': `W0314 09:15:20.101234       1 iptables.go:570] Could not set up iptables canary mangle/KUBE-PROXY-CANARY: error creating chain "KUBE-PROXY-CANARY": exit status 4: Another app is currently holding the xtables lock. Perhaps you want to use the -w option?`,
  },
  KN105: {
    'MARK for IPv6': [
      `${restore} err=<\n        exit status 2: ip6tables-restore v1.8.7 (nf_tables): unknown option "--xor-mark"\n        Error occurred at line: 11\n > ipFamily="IPv6"`,
      { subject: 'xt_mark', family: 'IPv6', backend: 'nf_tables' },
    ],
    'MARK, with the warning first': [
      `${restore} err="exit status 2: Warning: Extension MARK revision 0 not supported, missing kernel module?\\nip6tables-restore v1.8.9 (nf_tables): unknown option \\"--xor-mark\\"\\n"`,
      { subject: 'xt_mark', family: 'IPv6' },
    ],
    'the warning alone': [
      `${restore} err="exit status 2: Warning: Extension statistic revision 0 not supported, missing kernel module?\\n" ipFamily="IPv4"`,
      { subject: 'xt_statistic' },
    ],
    '--random-fully': [
      `${restore} err="exit status 2: iptables-restore v1.8.4 (nf_tables): unknown option \\"--random-fully\\"\\nError occurred at line: 9\\n" ipFamily="IPv4"`,
      { subject: 'xt_MASQUERADE' },
    ],
    'a match that is not found, while a jump is made': [
      `${jumps} err=<\n\terror checking rule: exit status 2: iptables v1.8.6 (nf_tables): Couldn't find match \`conntrack'\n\t\n\tTry \`iptables -h' or 'iptables --help' for more information.\n > table=filter srcChain=INPUT dstChain=KUBE-EXTERNAL-SERVICES`,
      { subject: 'xt_conntrack', family: 'IPv4' },
    ],
    nfacct: [
      `${restore} err="exit status 2: iptables-restore v1.8.9 (legacy): Couldn't load match \`nfacct':No such file or directory\\n" ipFamily="IPv4"`,
      { subject: 'xt_nfacct' },
    ],
    'the table nat for IPv6': [
      `${at('proxier.go:840')}"Failed to ensure chain exists" err="error creating chain \\"KUBE-SERVICES\\": exit status 3: ip6tables v1.8.7 (legacy): can't initialize ip6tables table \`nat': Table does not exist (do you need to insmod?)\\nPerhaps ip6tables or your kernel needs to be upgraded.\\n" table=nat chain=KUBE-SERVICES`,
      { subject: 'ip6table_nat', family: 'IPv6', backend: 'legacy' },
    ],
    'modprobe fails in the container': [
      `W0314 09:15:20.101234       1 iptables.go:570] Could not set up iptables canary mangle/KUBE-PROXY-CANARY: error creating chain "KUBE-PROXY-CANARY": exit status 3: modprobe: ERROR: could not insert 'ip_tables': Exec format error\niptables v1.8.7 (legacy): can't initialize iptables table \`mangle': Table does not exist (do you need to insmod?)\nPerhaps iptables or your kernel needs to be upgraded.`,
      { subject: 'iptable_mangle', family: 'IPv4' },
    ],
    'no nf_tables at all': [
      `${at('proxier.go:840')}"Failed to ensure chain exists" err="error creating chain \\"KUBE-SERVICES\\": exit status 3: iptables v1.8.7 (nf_tables): Could not fetch rule set generation id: Invalid argument\\n" table=nat chain=KUBE-SERVICES`,
      { subject: 'nf_tables' },
    ],
    'fib, nftables mode': [
      `${at('proxier.go:1723')}"nftables sync failed" err=<\n\t/dev/stdin:892:87-100: Error: Could not process rule: No such file or directory\n\tadd rule ip kube-proxy external-2QRHZV4L-shop/web/tcp/https fib saddr type local jump mark-for-masquerade comment "masquerade local traffic"\n\t                                                            ^^^^^^^^^^^^^^\n > ipFamily="IPv4"`,
      { subject: 'nft_fib_ipv4', family: 'IPv4' },
    ],
    'fib, IPv6': [
      `${at('proxier.go:1723')}"nftables sync failed" err=<\n\t/dev/stdin:12:1-2: Error: Could not process rule: No such file or directory\n\tadd rule ip6 kube-proxy nodeports fib daddr . iif type local jump nodeport-ips\n > ipFamily="IPv6"`,
      { subject: 'nft_fib_ipv6' },
    ],
    'modules of ipvs': [
      `${at('server_others.go:304')}can't determine whether to use ipvs proxy, error: IPVS proxier will not be used because the following required kernel modules are not loaded: [ip_vs_rr ip_vs_wrr ip_vs_sh]`,
      { subject: 'ip_vs_rr ip_vs_wrr ip_vs_sh' },
    ],
    'a syslog line out of the middle': [
      '        exit status 2: Warning: Extension MARK revision 0 not supported, missing kernel module?\n    ip6tables-restore v1.8.9 (nf_tables): unknown option "--xor-mark"',
      { subject: 'xt_mark' },
    ],
  },
  KN106: {
    'a bad argument after an empty one': [
      `${at('proxier.go:1282')}Failed to execute iptables-restore: exit status 2 (Bad argument \`${chain}'\nError occurred at line: 33\nTry \`iptables-restore -h' for more information.\n)`,
      { subject: chain },
    ],
    'an address that is none': [
      `${restore} err="exit status 2: iptables-restore v1.8.8 (legacy): host/network \`10.0.0.300' not found\\nError occurred at line: 7\\n" ipFamily="IPv4"`,
      { subject: '10.0.0.300' },
    ],
    'a mask that is none': [
      `${restore} err="exit status 2: iptables-restore v1.8.8 (legacy): invalid mask \`64' specified\\nError occurred at line: 7\\n" ipFamily="IPv4"`,
      { subject: '64' },
    ],
  },
  KN107: {
    'a line failed, old': [
      `${at('proxier.go:423')}Failed to execute iptables-restore for nat: exit status 1 (iptables-restore: line 7 failed\n)`,
      { subject: undefined },
    ],
    'a line failed, parsed by kube-proxy': [
      `${restore} err="iptables-restore: input error on line 88: " ipFamily="IPv4" rules=[{"Line":87,"Data":"-A KUBE-SERVICES -j KUBE-NODEPORTS"}]`,
      { quote: 'iptables-restore: input error on line 88:' },
    ],
    'systemctl shortens the middle': `${at('proxier.go:1507')}Failed to execute iptables-restore: exit status 2 (iptables-restore v1.4.21: Co...or directory`,
    'not allowed to': [
      `${restore} err=<\n\texit status 4: iptables-restore v1.8.9 (nf_tables): Could not fetch rule set generation id: Permission denied (you must be root)\n > ipFamily="IPv4"`,
      {
        backend: 'nf_tables',
        quote:
          'exit status 4: iptables-restore v1.8.9 (nf_tables): Could not fetch rule set generation id: Permission denied (you must be root)',
      },
    ],
    'an option of another age': `${restore} err="exit status 2: iptables-restore: invalid option -- 'W'\\nTry \`iptables-restore -h' for more information.\\n" ipFamily="IPv4"`,
    'a rule that nf_tables refuses': [
      `${restore} err=<\n\texit status 4: iptables-restore v1.8.9 (nf_tables):\n\tline 19: RULE_APPEND failed (No such file or directory): rule in chain KUBE-SERVICES\n > ipFamily="IPv4"`,
      {
        subject: 'KUBE-SERVICES',
        quote: 'line 19: RULE_APPEND failed (No such file or directory): rule in chain KUBE-SERVICES',
      },
    ],
    'stale chains stay': [
      `${at('proxier.go:1286')}"Failed to execute iptables-save: stale chains will not be deleted" err="exit status 1" ipFamily="IPv6"`,
      { family: 'IPv6' },
    ],
    'iptables-save, old': `${at('proxier.go:902')}Failed to execute iptables-save, syncing all rules: exit status 1`,
  },
  KN108: {
    'a jump, structured': [
      `${jumps} err="error appending rule: exit status 1: iptables: No chain/target/match by that name.\\n" ipFamily="IPv4" table="nat" srcChain="PREROUTING" dstChain="KUBE-SERVICES"`,
      { subject: 'KUBE-SERVICES', family: 'IPv4' },
    ],
    'a chain, old': [
      `${at('proxier.go:700')}Failed to ensure that nat chain KUBE-POSTROUTING exists: error creating chain "KUBE-POSTROUTING": exit status 3: Permission denied (you must be root)`,
      { subject: 'KUBE-POSTROUTING' },
    ],
    'a jump, old': [
      `${at('proxier.go:732')}Failed to ensure that nat chain OUTPUT jumps to KUBE-SERVICES: error checking rule: exit status 1`,
      { subject: 'KUBE-SERVICES' },
    ],
  },
  KN109: {
    'cleaning up another mode': [
      `${at('cleanup.go:89')}"Failed to execute iptables-restore" err=<\n        exit status 4: ip6tables-restore v1.8.9 (nf_tables):\n        line 10: CHAIN_DEL failed (Device or resource busy): chain KUBE-MARK-MASQ\n > table="nat"`,
      { subject: 'KUBE-MARK-MASQ', family: 'IPv6' },
    ],
    'a chain of a Service that is gone': [
      `${restore} err="exit status 4: iptables-restore v1.8.7 (nf_tables): \\nline 31: CHAIN_USER_DEL failed (Device or resource busy): chain ${chain}\\n" ipFamily="IPv4"`,
      { subject: chain, backend: 'nf_tables' },
    ],
    'a stale chain, nftables mode': [
      `${at('proxier.go:1132')}"Unable to delete stale chains; will retry later" err=<\n\t/dev/stdin:2:1-77: Error: Could not process rule: Device or resource busy\n\tdelete chain ip kube-proxy service-2QRHZV4L-shop/web/tcp/https\n > ipFamily="IPv4"`,
      { subject: 'service-2QRHZV4L-shop/web/tcp/https' },
    ],
  },
  KN111: {
    'nft refuses a rule': [
      `${at('proxier.go:1723')}"nftables sync failed" err=<\n\t/dev/stdin:31:1-2: Error: Could not process rule: No such file or directory\n\tadd rule ip kube-proxy service-2QRHZV4L-shop/web/tcp/https ip daddr 10.96.3.4 tcp dport 443 jump mark-for-masquerade\n\t^^\n > ipFamily="IPv4"`,
      {
        subject: 'service-2QRHZV4L-shop/web/tcp/https',
        quote: '/dev/stdin:31:1-2: Error: Could not process rule: No such file or directory',
      },
    ],
    'nft cannot list': [
      `${at('proxier.go:1169')}"Failed to list existing nftables objects" err="failed to run nft: exit status 1" ipFamily="IPv6"`,
      { family: 'IPv6', subject: undefined },
    ],
    'nft is not allowed to': `${at('proxier.go:1723')}"nftables sync failed" err="/dev/stdin:1:1-25: Error: Could not process rule: Operation not permitted\\nadd table ip kube-proxy { comment \\"rules for kube-proxy\\" ; }\\n" ipFamily="IPv4"`,
  },
  KN112: {
    'an interface by pattern': [
      `${at('proxier.go:1851')}"nftables sync failed" err=<\n\t/dev/stdin:72:109-112: Error: Interface does not exist\n\tadd rule ip kube-proxy service-2QRHZV4L-shop/web/tcp/https ip daddr 10.0.0.1 tcp dport 443 iif != azv* jump mark-for-masquerade\n\t                                    ^^^^`,
      { subject: 'azv*', family: 'IPv4' },
    ],
    'a bridge': [
      `${at('proxier.go:1851')}"nftables sync failed" err="/dev/stdin:7:1-9: Error: Interface does not exist\\nadd rule ip6 kube-proxy services iif \\"cbr0\\" jump x\\n" ipFamily="IPv6"`,
      { subject: 'cbr0', family: 'IPv6' },
    ],
    'an interface that is not named': [
      `${at('proxier.go:1851')}"nftables sync failed" err="/dev/stdin:7:1-9: Error: Interface does not exist"`,
      { subject: undefined },
    ],
  },
  KN113: {
    'nft crashes, quoted': '"nftables sync failed" err="signal: segmentation fault (core dumped)"',
    'nft crashes while it lists': `${at('proxier.go:1169')}"Failed to list existing nftables objects" err="failed to run nft: signal: segmentation fault" ipFamily="IPv4"`,
    'nft aborts': [
      `${at('proxier.go:1723')}"nftables sync failed" err="signal: aborted (core dumped)" ipFamily="IPv4"`,
      { family: 'IPv4' },
    ],
  },
  KN114: {
    'no JSON, block': [
      `${at('proxier.go:994')}"Failed to list nftables elements" err=<\n\tfailed to run nft: JSON support not compiled-in\n > ipFamily="IPv4" containerName="cluster-ips" containerType="set"`,
      { family: 'IPv4' },
    ],
    'no JSON, objects': [
      `${at('proxier.go:1169')}"Failed to list existing nftables objects" err="failed to run nft: Error: JSON support not compiled-in\\n" ipFamily="IPv6"`,
      { family: 'IPv6' },
    ],
    'no JSON, logged as JSON':
      '{"ts":1795226670836.1,"caller":"nftables/proxier.go:991","msg":"Failed to list nftables elements","ipFamily":"IPv4","containerName":"service-ips","err":"failed to run nft: JSON support not compiled-in"}',
  },
  KN115: {
    'an old kernel': [
      `${at('proxier.go:1192')}Failed to sync endpoint for service: 10.96.0.10:9153/TCP, err: parseIP Error ip=[100 73 75 130 0 0 0 0 0 0 0 0 0 0 0 0]`,
      { subject: '10.96.0.10:9153/TCP', quote: 'parseIP Error ip=[100 73 75 130 0 0 0 0 0 0 0 0 0 0 0 0]' },
    ],
    'the service is gone': `${at('proxier.go:1116')}Failed to sync endpoint for service: 172.17.0.1:31800/TCP, err: Expected only one service obtained=0`,
    'ipset cannot be made': [
      `${at('ipset.go:156')}Failed to make sure ip set: &{{KUBE-LOAD-BALANCER-SOURCE-IP hash:ip,port,ip inet 1024 65536 0-65535 Kubernetes service load balancer ip + port + source IP for packet filter purpose} map[] 0xc4209237b0} exist, error: error creating ipset KUBE-LOAD-BALANCER-SOURCE-IP, error: exit status 1`,
      { subject: 'KUBE-LOAD-BALANCER-SOURCE-IP' },
    ],
    'structured, with the name of the Service': [
      `${at('proxier.go:871')}"Failed to sync endpoint for service" err="no such process" ipFamily="IPv4" servicePortName="shop/web:https" virtualServer="10.96.3.4:443/TCP"`,
      { subject: 'shop/web:https', family: 'IPv4' },
    ],
    add: `${at('proxier.go:1560')}"Failed to add IPVS service" err="operation not supported" serviceName="shop/web:https"`,
  },
  KN116: {
    'no conntrack': [
      `${at('server.go:134')}"Error running ProxyServer" err="open /proc/sys/net/netfilter/nf_conntrack_max: no such file or directory"`,
      { subject: 'nf_conntrack' },
    ],
    'no ipvs': [
      `${at('server.go:136')}"Error running ProxyServer" err="can't use the IPVS proxier: no such file or directory"`,
      { subject: 'ip_vs' },
    ],
    'bad configuration': [
      `${at('run.go:72')}"command failed" err="failed complete: open /var/lib/kube-proxy/config.conf: no such file or directory"`,
      { subject: undefined },
    ],
    'fatal, old':
      "F0314 09:15:20.101234       1 server.go:443] unable to create proxier: can't set sysctl net/ipv4/conf/all/route_localnet: open: read-only file system",
  },
  KN117: {
    'fatal elsewhere': [
      'F0314 09:15:20.101234       1 hollow.go:43] something is very wrong',
      { failing: 'kube-proxy' },
    ],
  },
  KN118: {
    'health port taken, 1.17 to 1.21': [
      'E0408 09:11:02.206197       1 proxier_health.go:133] Failed to start proxier healthz on 0.0.0.0:10256: listen tcp 0.0.0.0:10256: bind: address already in use',
      { subject: '0.0.0.0:10256' },
    ],
    'health port taken, 1.8 and 1.16': [
      'E1120 13:53:53.641275       1 healthcheck.go:317] Failed to start node healthz on 0.0.0.0:10256: listen tcp 0.0.0.0:10256: bind: address already in use',
      { subject: '0.0.0.0:10256' },
    ],
    'metrics port taken, 1.8 to 1.21': [
      'E1120 14:19:04.010132       1 server.go:564] starting metrics server failed: listen tcp 127.0.0.1:10249: bind: address already in use',
      { subject: '127.0.0.1:10249' },
    ],
    'health port taken, 1.32': [
      'E0408 09:11:02.206197       1 server.go:424] "Healthz server failed" err="failed to start proxier healthz on 0.0.0.0:10256: listen tcp 0.0.0.0:10256: bind: address already in use" logger="UnhandledError"',
      { subject: '0.0.0.0:10256', failing: 'kube-proxy' },
    ],
    'metrics port taken, 1.32': [
      'E0408 09:11:02.206520       1 server.go:466] "Unhandled Error" err="starting metrics server failed: listen tcp 127.0.0.1:10249: bind: address already in use" logger="UnhandledError"',
      { subject: '127.0.0.1:10249' },
    ],
  },
  syncs: {
    'sync failed': [
      'I0314 09:15:20.101300       1 proxier.go:833] "Sync failed" ipFamily="IPv4" retryingTime="30s"',
      { sync: 'sync-failed', retry: 30_000, family: 'IPv4' },
    ],
    'sync failed, minutes': [
      'I0314 09:15:20.101300       1 proxier.go:833] "Sync failed" ipFamily="IPv6" retryingTime="1m30s"',
      { sync: 'sync-failed', retry: 90_000, family: 'IPv6' },
    ],
    'sync failed, old': [
      'I1102 23:38:04.959679    6315 proxier.go:779] Sync failed; retrying in 30s',
      { sync: 'sync-failed', retry: 30_000, family: '' },
    ],
    'sync failed, JSON': [
      '{"ts":1795226670836.5518,"caller":"iptables/proxier.go:673","msg":"Sync failed","ipFamily":"IPv4","v":0,"retryingTime":"30s"}',
      { sync: 'sync-failed', retry: 30_000 },
    ],
    'sync complete': [
      'I0314 09:15:20.101300       1 proxier.go:822] "SyncProxyRules complete" ipFamily="IPv4" elapsed="41.2ms"',
      { sync: 'sync-complete', retry: undefined, family: 'IPv4' },
    ],
    'sync complete, ipvs': [
      'I0314 09:15:20.101300       1 proxier.go:694] "syncProxyRules complete" ipFamily="IPv4" elapsed="41.2ms"',
      { sync: 'sync-complete' },
    ],
    'sync complete, old': [
      'I0314 09:15:20.101300       1 proxier.go:645] syncProxyRules took 41.2ms',
      { sync: 'sync-complete' },
    ],
  },
});
