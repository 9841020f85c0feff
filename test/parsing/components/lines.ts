import type { ProgramRecord } from '../../../src/model/program-record.ts';

/** The differences from the defaults: kube-proxy, an error of proxier.go, nothing else. */
type Expected = Partial<Omit<ProgramRecord, 'kind'>>;
type Row = [name: string, text: string, expected: Expected];

const at = 'E1121 13:37:46.657104   31530 proxier.go:1406]';
const restoreError = [
  'exit status 2: Ignoring deprecated --wait-interval option.',
  "iptables-restore v1.8.9 (legacy): Couldn't load target `KUBE-SVC-ABCDEFGHIJKLMNOP':No such file or directory",
  '',
  'Error occurred at line: 31',
].join('\n');
const restoreFailed = 'Failed to execute iptables-restore';
const indented = (by: string): string => restoreError.replaceAll(/^/gm, by);

/** Most of these were printed by klog 2.140 and component-base 0.36. */
const klog: Row[] = [
  [
    'error of several lines',
    `${at} "${restoreFailed}" err=<\n${indented('\t')}\n > ipFamily="IPv4"`,
    { message: restoreFailed, error: restoreError, fields: { err: restoreError, ipFamily: 'IPv4' } },
  ],
  [
    'as a log viewer delivers it',
    `${at} "${restoreFailed}" err=\n${indented('    ')}\n > ipFamily="IPv6"`,
    { message: restoreFailed, error: restoreError, fields: { err: restoreError, ipFamily: 'IPv6' } },
  ],
  [
    'with eight spaces, an empty line that lost them, and no end',
    `${at} "x" err=<\n        a\n\n            b`,
    { message: 'x', error: 'a\n\n    b', fields: { err: 'a\n\n    b' } },
  ],
  [
    'with indentation that has suffered',
    `${at} "x" err=\n    a\n  b\n>>> c\n > table="nat"`,
    { message: 'x', error: 'a\nb\n>>> c', fields: { err: 'a\nb\n>>> c', table: 'nat' } },
  ],
  [
    'line breaks made into spaces',
    `${at} "x" err=< exit status 4: a b  > table="nat"`,
    { message: 'x', error: 'exit status 4: a b', fields: { err: 'exit status 4: a b ', table: 'nat' } },
  ],
  [
    'damaged by a scan',
    `E1121 13:37:46.657104731530 proxier.go:1447] "x" err=‹exit status 4: a\nCan't lock /run/xtables. lock`,
    {
      message: 'x',
      error: "exit status 4: a\nCan't lock /run/xtables. lock",
      fields: { err: "exit status 4: a\nCan't lock /run/xtables. lock" },
    },
  ],
  [
    'escaped by rsyslog',
    `${at} "x" err=<#012#011a#012#011b#012 > table="nat"`,
    { message: 'x', error: 'a\nb', fields: { err: 'a\nb', table: 'nat' } },
  ],
  ['its first line only', `${at} "x" err=<`, { message: 'x', fields: { err: '' } }],
  [
    'all kinds of values',
    String.raw`${at} "Odd \"message\"\n" err="one \"line\" with \t tab, \x01, é, \xff and 😀" port=5 none=null ` +
      String.raw`key={"Name":"a b}","Port":1} list=["x y","z=\"1\""] d="30s" rules="*nat\n:X - [0:0]\n" svc="shop/web" two=<` +
      '\n\ta\n\tb\n > last=true',
    {
      message: 'Odd "message"\n',
      error: 'one "line" with \t tab, \x01, é, \uFFFD and 😀',
      fields: {
        err: 'one "line" with \t tab, \x01, é, \uFFFD and 😀',
        port: '5',
        none: 'null',
        key: '{"Name":"a b}","Port":1}',
        list: String.raw`["x y","z=\"1\""]`,
        d: '30s',
        svc: 'shop/web',
        two: 'a\nb',
        last: 'true',
      },
    },
  ],
  [
    'success',
    'I1121 13:37:46.657220   31530 proxier.go:662] "SyncProxyRules complete" ipFamily="IPv6" elapsed="1.2ms"',
    { severity: 'info', message: 'SyncProxyRules complete', fields: { ipFamily: 'IPv6', elapsed: '1.2ms' } },
  ],
  [
    'failure as news',
    'I1121 13:37:46.657220       1 proxier.go:673] "Sync failed" ipFamily="IPv4" retryingTime="30s"',
    { severity: 'info', message: 'Sync failed', fields: { ipFamily: 'IPv4', retryingTime: '30s' } },
  ],
  [
    'the same of old releases',
    'I1121 13:37:46.657220       1 proxier.go:779] Sync failed; retrying in 30s',
    { severity: 'info', message: 'Sync failed; retrying in 30s' },
  ],
  [
    'without structure, its end on a line of its own',
    `${at} Failed to execute iptables-restore for nat: exit status 1 (iptables-restore: line 7 failed\n)`,
    {
      message: 'Failed to execute iptables-restore for nat',
      error: 'exit status 1 (iptables-restore: line 7 failed\n)',
    },
  ],
  [
    'without structure, all rules behind',
    `${at} ${restoreFailed}: exit status 1 (x\n)\nRules:\n*nat\n-A X -m comment --comment "exit status 4"`,
    { message: restoreFailed, error: 'exit status 1 (x\n)' },
  ],
  [
    'a colon before the error',
    'E1121 13:37:46.6       1 ipset.go:156] Failed to make sure ip set: &{{A hash:ip,port}} exist, error: error creating A, error: exit status 1',
    {
      caller: 'ipset.go',
      message: 'Failed to make sure ip set: &{{A hash:ip,port}} exist',
      error: 'error creating A, error: exit status 1',
    },
  ],
  [
    'a warning',
    'W1121 13:37:46.657229   31530 iptables.go:27] Could not set up iptables canary mangle/KUBE-PROXY-CANARY: exit status 3',
    {
      severity: 'warning',
      caller: 'iptables.go',
      message: 'Could not set up iptables canary mangle/KUBE-PROXY-CANARY',
      error: 'exit status 3',
    },
  ],
  [
    'the end of a program',
    'F1121 13:37:46.657229   31530 server.go:490] open /proc/x: no such file\ngoroutine 1 [running]:\nmain.main()',
    { severity: 'fatal', caller: 'server.go', message: 'open /proc/x: no such file' },
  ],
  [
    'lines behind that no field has',
    `${at} "x" table="nat"\n    exit status 3\n    more`,
    { message: 'x', error: 'exit status 3\nmore', fields: { table: 'nat' } },
  ],
  ['a folder in the header', `${at.replace('proxier', 'iptables/proxier')} "x"`, { message: 'x' }],
  [
    'without its header',
    '"nftables sync failed" err="signal: killed"',
    { message: 'nftables sync failed', caller: '', error: 'signal: killed', fields: { err: 'signal: killed' } },
  ],
  [
    'a key that objects have',
    `${at} "x" __proto__="y"`,
    { message: 'x', fields: Object.fromEntries([['__proto__', 'y']]) },
  ],
];

const json: Row[] = [
  [
    'error',
    `{"ts":1795268266657.265,"caller":"iptables/proxier.go:30","msg":"${restoreFailed}","ipFamily":"IPv4","err":${JSON.stringify(`${restoreError}\n`)}}`,
    { message: restoreFailed, error: restoreError, fields: { ipFamily: 'IPv4', err: `${restoreError}\n` } },
  ],
  [
    'success',
    '{"ts":1795268266657.2827,"caller":"iptables/proxier.go:31","msg":"SyncProxyRules complete","v":2,"ipFamily":"IPv6","elapsed":"1.2ms"}',
    { severity: 'info', message: 'SyncProxyRules complete', fields: { ipFamily: 'IPv6', elapsed: '1.2ms' } },
  ],
  [
    'all kinds of values',
    String.raw`{"ts":1795268266657.3022,"caller":"a/main.go:32","msg":"odd <&> \u2028 \ud83d\ude00 \/","v":4,"key":{"Name":"a b","Port":1},"list":["x","y]"],"none":null,"d":1.5}`,
    {
      severity: 'debug',
      caller: 'main.go',
      message: 'odd <&> \u2028 😀 /',
      fields: { key: '{"Name":"a b","Port":1}', list: '["x","y]"]', none: 'null', d: '1.5' },
    },
  ],
  [
    'cut off',
    String.raw`{"ts":1795268266657,"caller":"iptables/proxier.go:30","msg":"x","err":"exit status 2\nmore`,
    { message: 'x', error: 'exit status 2\nmore', fields: { err: 'exit status 2\nmore' } },
  ],
];

const felixAt = '2026-11-21 10:00:00.123 [WARNING][56] felix/table.go 654:';
const felix: Expected = { program: 'felix', severity: 'warning', caller: 'felix/table.go' };

const logrus: Row[] = [
  [
    'all kinds of values',
    String.raw`${felixAt} Detected actual=[]string{"", "a b=c"} chainName="OUT\"PUT\n" error=exit status 1 (x) key=main.key{Name:"a k=b", Port:2} p=map[string]int{"z z=1":2} t=3000000000`,
    {
      ...felix,
      message: 'Detected',
      error: 'exit status 1 (x)',
      fields: {
        actual: '[]string{"", "a b=c"}',
        chainName: 'OUT"PUT\n',
        error: 'exit status 1 (x)',
        key: 'main.key{Name:"a k=b", Port:2}',
        p: 'map[string]int{"z z=1":2}',
        t: '3000000000',
      },
    },
  ],
  [
    'two error texts, and the rules left out',
    String.raw`${felixAt} Failed to execute ip(6)tables-restore command error=exit status 2 errorOutput="a\n\nb\n" input="*filter\n" ipVersion=0x4 output="" table="filter"`,
    {
      ...felix,
      message: 'Failed to execute ip(6)tables-restore command',
      error: 'exit status 2\na\n\nb',
      fields: { error: 'exit status 2', errorOutput: 'a\n\nb\n', ipVersion: '0x4', output: '', table: 'filter' },
    },
  ],
  [
    'an error with quotes in it',
    `${felixAt} x error=Get "https://10.96.0.1:443/a?b=c d=e": dial tcp 10.96.0.1:443: i/o timeout name="n"`,
    {
      ...felix,
      message: 'x',
      error: 'Get "https://10.96.0.1:443/a?b=c d=e": dial tcp 10.96.0.1:443: i/o timeout',
      fields: {
        error: 'Get "https://10.96.0.1:443/a?b=c d=e": dial tcp 10.96.0.1:443: i/o timeout',
        name: 'n',
      },
    },
  ],
  [
    'a quote that is not closed',
    `${felixAt} x profileID="prof-1`,
    { ...felix, message: 'x', fields: { profileID: 'prof-1' } },
  ],
  [
    'brackets that are not closed',
    `${felixAt} x a=foo(b error=exit status 1`,
    { ...felix, message: 'x', error: 'exit status 1', fields: { a: 'foo(b', error: 'exit status 1' } },
  ],
  [
    'what looks like a key in brackets',
    `${felixAt} x p=proto.Key{Name:a k=b} q=Key(node=a name=b) r=1`,
    { ...felix, message: 'x', fields: { p: 'proto.Key{Name:a k=b}', q: 'Key(node=a name=b)', r: '1' } },
  ],
  [
    'a pointer to a string',
    `${felixAt} x p=*"a b" q=<nil>`,
    { ...felix, message: 'x', fields: { p: 'a b', q: '<nil>' } },
  ],
  [
    'gives up, of an old release',
    '2026-11-21 10:00:00.123 [PANIC][1274] table.go 695: Failed to program iptables, giving up error=exit status 2',
    {
      ...felix,
      severity: 'fatal',
      caller: 'table.go',
      message: 'Failed to program iptables, giving up',
      error: 'exit status 2',
      fields: { error: 'exit status 2' },
    },
  ],
  [
    'a message with equal signs and brackets',
    '2026-11-21 10:00:00.123 [INFO][9] confd/client.go 1036: Recompute: HostBGPConfig(node=node-a; name=ip) updated; nodes = 3',
    {
      program: 'confd',
      severity: 'info',
      caller: 'confd/client.go',
      message: 'Recompute: HostBGPConfig(node=node-a; name=ip) updated; nodes = 3',
    },
  ],
  [
    'another part of calico-node',
    '2026-11-21 10:00:00.123 [ERROR][9] tunnel-ip-allocator/allocateip.go 7: x',
    { program: 'calico-node', caller: 'tunnel-ip-allocator/allocateip.go', message: 'x' },
  ],
  [
    'of Python',
    '2016-02-25 10:00:00,123 [CRITICAL][12/34] calico.felix.frules 75: x',
    { program: 'felix', severity: 'fatal', caller: 'calico.felix.frules', message: 'x' },
  ],
  [
    'as felix writes to a syslog',
    'calico-felix[28936]: WARNING active_rules_calculator.go 260: generating dummy profile profileID="p"',
    { ...felix, caller: 'active_rules_calculator.go', message: 'generating dummy profile', fields: { profileID: 'p' } },
  ],
  [
    'without level',
    'felix/table.go 1321: x error=exit status 2',
    { ...felix, message: 'x', error: 'exit status 2', fields: { error: 'exit status 2' } },
  ],
  [
    'without header',
    'Failed to execute ip(6)tables-restore command error=exit status 2',
    {
      ...felix,
      caller: '',
      message: 'Failed to execute ip(6)tables-restore command',
      error: 'exit status 2',
      fields: { error: 'exit status 2' },
    },
  ],
  [
    'panic',
    'panic: (*logrus.Entry) 0xc000340620',
    { program: 'calico-node', severity: 'fatal', caller: '', message: 'panic: (*logrus.Entry) 0xc000340620' },
  ],
  [
    'not on a terminal',
    String.raw`time="2026-11-21T13:37:46Z" level=warning msg="Failed to do: a b" error="exit status 2" errorOutput="x \"y\"\nz" n=5`,
    {
      program: 'calico-node',
      severity: 'warning',
      caller: '',
      message: 'Failed to do: a b',
      error: 'exit status 2\nx "y"\nz',
      fields: { error: 'exit status 2', errorOutput: 'x "y"\nz', n: '5' },
    },
  ],
  [
    'not on a terminal, short',
    'time="2026-11-21T13:37:46Z" level=error msg=short',
    { program: 'calico-node', caller: '', message: 'short' },
  ],
];

const bird: Expected = { program: 'bird', severity: 'info', caller: '' };
const unready: Expected = {
  program: 'calico-node',
  severity: 'warning',
  caller: '',
  message: 'calico/node is not ready',
};

const others: Row[] = [
  [
    'bird',
    'bird: Mesh_10_0_0_2: Connect delayed by 5 seconds',
    { ...bird, message: 'Mesh_10_0_0_2: Connect delayed by 5 seconds' },
  ],
  ['bird6', 'bird6: BGP: x', { ...bird, message: 'BGP: x' }],
  ['bird behind svlogd', '2026-06-15_07:05:27.75862 bird: device1: x', { ...bird, message: 'device1: x' }],
  ['bird in a file', '2026-06-15 07:05:27.758 <WARN> BGP: x', { ...bird, severity: 'warning', message: 'BGP: x' }],
  ['bird in a syslog', 'bird6[77]: BGP: x', { ...bird, message: 'BGP: x' }],
  [
    'not ready',
    'calico/node is not ready: BIRD6 is not ready: BGP not established with fd00::1',
    { ...unready, error: 'BIRD6 is not ready: BGP not established with fd00::1' },
  ],
  [
    'not ready, behind what its parts say',
    '2026-11-21 10:00:00.123 [INFO][9] confd/health.go 180: peers = 0\ncalico/node is not ready: felix is not ready: a\nb',
    { ...unready, error: 'felix is not ready: a\nb' },
  ],
  ['not ready, by the kubelet', 'Readiness probe failed: calico/node is not ready: x', { ...unready, error: 'x' }],
  [
    'a line out of a record, in a syslog',
    "kube-proxy[9]:         iptables-restore v1.8.9 (legacy): Couldn't load target `KUBE-MARK-DROP'",
    { caller: '', message: '', error: "iptables-restore v1.8.9 (legacy): Couldn't load target `KUBE-MARK-DROP'" },
  ],
  ['lines out of a record', '    exit status 2: a\n    b', { caller: '', message: '', error: 'exit status 2: a\nb' }],
];

const inPairs = { program: 'calico-node', caller: '' } as const;

const syslog: Row[] = [
  ['kube-proxy', `kube-proxy[31530]: ${at} "x"`, { message: 'x' }],
  ['without a number', `kube-proxy: ${at} "x"`, { message: 'x' }],
  [
    'before each line',
    `kube-proxy[9]: ${at} "x" err=<\nkube-proxy[9]:         a\nkube-proxy[9]:         b`,
    { message: 'x', error: 'a\nb', fields: { err: 'a\nb' } },
  ],
  ['another program', `kubelet[7]: ${at} "x"`, { program: 'unknown', message: 'x' }],
  [
    'logrus of a part of Calico',
    `calico-node[7]: time="2026-11-21T10:00:00Z" level=error msg="x"`,
    { ...inPairs, message: 'x' },
  ],
  ['many programs in one', `k3s[7]: ${at} "x"`, { message: 'x' }],
  [
    'many programs in one, another of them',
    `k3s[7]: ${at.replace('proxier', 'kubelet')} "x"`,
    { program: 'unknown', caller: 'kubelet.go', message: 'x' },
  ],
];

export const lines = { klog, json, logrus, others, syslog };

export function expectedRecord(expected: Expected): ProgramRecord {
  return {
    kind: 'program-record',
    program: 'kube-proxy',
    severity: 'error',
    caller: 'proxier.go',
    message: '',
    fields: {},
    error: '',
    ...expected,
  };
}
