import { describe, expect, test } from 'vitest';
import { programNeedles } from '../../../src/parsing/programs/needles.ts';
import { parseProgramRecord } from '../../../src/parsing/programs/program-record.ts';
import { expectedRecord, lines } from './lines.ts';

const at = 'E1121 13:37:46.657104   31530 proxier.go:1406]';

describe.each(Object.entries(lines))('%s', (_, rows) => {
  test.each(rows)('%s', (_name, text, expected) => {
    expect(parseProgramRecord(text)).toStrictEqual(expectedRecord(expected));
  });
});

test.each([
  '',
  ' ',
  'plain text',
  '{}',
  '{"level":"info","ts":"2026-11-21T10:00:00Z","logger":"x","msg":"y"}',
  '{"level":"info","ts":1795268266.3,"caller":"a.go:1","msg":"y"}',
  '{"log":"x","stream":"stdout"}',
  '"GET / HTTP/1.1" 200',
  'Nov 21 10:00:00 node-a kernel: calico-drop: IN=cali1 OUT=eth0 SRC=10.0.0.1 DST=10.0.0.2',
  'see E1121 13:37:46.657104   31530 proxier.go:1406] "x"',
  'who says that calico/node is not ready: nobody',
  'birds: x',
  'panic: x',
  'time="x"',
  'sshd[12]: Accepted',
])('none of ours: %s', (text) => {
  expect(parseProgramRecord(text)).toBeUndefined();
});

test('a tag that was taken off already', () => {
  expect(parseProgramRecord(`${at} "x"`, 'kubelet')?.program).toBe('unknown');
  expect(parseProgramRecord(at.replace('proxier', 'kubelet_network_linux'))?.program).toBe('unknown');
  expect(parseProgramRecord('time="2026-11-21T10:00:00Z" level=error msg="dial tcp"', 'k3s')).toBeUndefined();
  expect(parseProgramRecord('BGP: x', 'bird')?.program).toBe('bird');
  expect(parseProgramRecord(`${at} "x"`, 'k8s_kube-proxy_kube-proxy-x_kube-system_1_0')?.program).toBe('kube-proxy');
});

describe('bounds', () => {
  const long = 'x'.repeat(40_000);

  test('4 KiB a field, 16 KiB of error text, none of it half a character', () => {
    const record = parseProgramRecord(`${at} "m" err="${'😀'.repeat(20_000)}" a="y${'😀'.repeat(5000)}"`);
    expect(record?.error).toBe('😀'.repeat(8192));
    expect(record?.fields).toStrictEqual({ err: '😀'.repeat(2048), a: `y${'😀'.repeat(2047)}` });
  });

  test('an error of several lines', () => {
    const record = parseProgramRecord(`${at} "m" err=<\n\t${long}\n\t${'x'.repeat(20_000)}\n > a="b"`);
    expect(record?.error).toBe('x'.repeat(16_384));
    expect(record?.fields['a']).toBe('b');
  });

  test('a message of 4 KiB', () => {
    expect(parseProgramRecord(`${at} ${long}`)?.message).toHaveLength(4096);
    expect(parseProgramRecord(`${at} "${long}"`)?.message).toHaveLength(4096);
  });

  test('32 fields, and the error whatever its place', () => {
    const fields = Array.from({ length: 40 }, (_, i) => ` k${i}="v"`).join('');
    const record = parseProgramRecord(`${at} "m"${fields} err="e" k3="new"`);
    expect(Object.keys(record?.fields ?? {})).toHaveLength(32);
    expect(record?.fields['k3']).toBe('new');
    expect(record?.error).toBe('e');
  });

  test('64 KiB of text', () => {
    const text = `${at} "m" err="${long}" a="${'x'.repeat(20_000)}`;
    expect(parseProgramRecord(`${text}" b="${long}" c="d"`)?.fields['c']).toBeUndefined();
  });
});

test('needles are literals that can be searched together', () => {
  expect(programNeedles.filter((needle) => needle.length < 8 || /[^\x20-\x7e]/.test(needle))).toStrictEqual([]);
  const covered = programNeedles.filter((each) =>
    programNeedles.some((other) => other !== each && each.includes(other)),
  );
  expect(covered).toStrictEqual([]);
});

test.each([
  `${at} "Failed to execute iptables-restore" err=<`,
  "kube-proxy[9]: \texit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target `KUBE-SVC-A':No such",
  "\tip6tables-restore v1.8.9 (nf_tables): Couldn't find match `comment'",
  '\tunknown option "--random-fully"',
  'Warning: Extension MARK revision 0 not supported, missing kernel module?',
  `${at} "Failed to ensure chain jumps" err="x"`,
  `${at} Failed to ensure that filter chain INPUT jumps to KUBE-SERVICES: x`,
  '\tAnother app is currently holding the xtables lock.',
  "Can't open lock file /run/xtables.lock: Permission denied",
  `${at} Failed to x: failed to acquire old iptables lock: timed out`,
  '(Bad argument `KUBE-SVC-A',
  '\tline 10: CHAIN_USER_DEL failed (Device or resource busy): chain A',
  `${at} "nftables sync failed" err="x"`,
  `${at} "Failed to list nftables elements" err="x"`,
  `${at} "Failed to sync service" err="x"`,
  `${at} Failed to add IPVS service "x": y`,
  `${at} Failed to make sure ip set: x`,
  'I1121 13:37:46.6 1 proxier.go:1] "Sync failed" ipFamily="IPv4"',
  'I1121 13:37:46.6 1 proxier.go:1] "SyncProxyRules complete" ipFamily="IPv4"',
  `I1121 13:37:46.6 1 proxier.go:1] syncProxyRules complete`,
  `${at} "Error running ProxyServer" err="x"`,
  `${at} "command failed" err="x"`,
  'felix/table.go 1: Failed to program iptables, will retry error=exit status 2',
  'felix/table.go 1: ip6tables-legacy-save command failed error=exit status 1',
  'felix/table.go 1: iptables-save failed because there are incompatible nft rules in the table.',
  'felix/table.go 1: Detected out-of-sync Calico chain, marking for resync',
  'felix/table.go 1: Chain had unexpected inserts, marking for resync',
  'felix/table.go 1: Succeeded after retry.',
  'generating dummy profile that drops all traffic.',
  'error=Get "https://10.96.0.1:443/x": dial tcp 10.96.0.1:443: connect: connection refused',
  'bird: BGP: Unexpected connect from unknown address 10.0.0.9 (port 27467)',
  'calico/node is not ready: BIRD is not ready: Error querying BIRD: x',
  'confd/health.go 180: Number of node(s) with BGP peering established = 0',
])('found by its needle: %s', (line) => {
  expect(programNeedles.filter((needle) => line.includes(needle))).not.toStrictEqual([]);
});
