import fc from 'fast-check';
import { expect, it } from 'vitest';
import { causeOf, causes, signOf } from '../../../../src/explain/incidents/catalogue/catalogue.ts';
import type { TableReport } from '../../../../src/base/model/observation.ts';
import type { FailureSign, ProgramRecord } from '../../../../src/base/model/program-record.ts';
import { parseProgramRecord } from '../../../../src/read/parsing/components/program-record.ts';
import { lines } from './lines.ts';
import { forAll } from '../../../for-all.ts';

const tables: {
  reports: [TableReport, Partial<FailureSign>][];
  modules: [string, string, string][];
  retries: [string, number | undefined][];
} = {
  // Reports about full tables of the kernel, and the signs of incidents in them.
  reports: [
    [
      { kind: 'conntrack-full', netns: undefined },
      { code: 'KN401', family: '', subject: 'the host', quote: 'nf_conntrack: table full, dropping packet' },
    ],
    [
      { kind: 'conntrack-full', netns: 4026532317 },
      {
        subject: 'network namespace 4026532317',
        quote: 'nf_conntrack: table full in netns 4026532317, dropping packet',
      },
    ],
    [
      { kind: 'neighbour-overflow', family: 'IPv6' },
      { code: 'KN402', subject: 'IPv6', family: 'IPv6', quote: 'IPv6: neighbour table overflow' },
    ],
    [
      { kind: 'neighbour-overflow', family: undefined },
      { code: 'KN402', subject: undefined, family: '', quote: 'neighbour table overflow' },
    ],
    [
      { kind: 'conntrack-high', count: 240000, max: 262144 },
      { code: 'KN404', family: '', subject: 'the host', quote: 'nf_conntrack_count 240000 of nf_conntrack_max 262144' },
    ],
  ],
  modules: [
    ['IPv4', 'MARK CONNMARK SET DNAT SNAT NOTRACK', 'xt_mark xt_connmark xt_set xt_nat xt_nat xt_CT'],
    ['IPv4', 'tcp udp nfacct physdev ah frag', 'xt_tcpudp xt_tcpudp xt_nfacct xt_physdev ipt_ah xt_frag'],
    ['IPv4', 'rpfilter REJECT SYNPROXY', 'ipt_rpfilter ipt_REJECT ipt_SYNPROXY'],
    ['IPv6', 'rpfilter REJECT SYNPROXY ah tcp', 'ip6t_rpfilter ip6t_REJECT ip6t_SYNPROXY ip6t_ah xt_tcpudp'],
    [
      'IPv6',
      'rt frag eui64 ipv6header hbh mh srh',
      'ip6t_rt ip6t_frag ip6t_eui64 ip6t_ipv6header ip6t_hbh ip6t_mh ip6t_srh',
    ],
  ],
  // When kube-proxy tries again, in milliseconds.
  retries: [
    ['30s', 30000],
    ['1m0s', 60000],
    ['1h2m3.5s', 3723500],
    ['250ms', 250],
    ['soon', undefined],
    ['', undefined],
  ],
};

const record = (parts: Partial<ProgramRecord>): ProgramRecord => ({
  kind: 'program-record',
  program: 'kube-proxy',
  severity: 'error',
  caller: 'proxier.go',
  message: '',
  fields: {},
  error: '',
  ...parts,
});

it.each([
  ['/dev/stdin:4:1-30: Error: Could not process rule: No such file or directory', 'KN111'],
  ['Error: nothing of nft', 'KN107'],
])("a single line of a cut record's error: %s is %s", (error, code) => {
  expect(signOf(record({ error }))).toMatchObject({ kind: 'failure', code });
});

it('returns limited text for any record, and never throws', () => {
  const known = lines.map(({ text }) => parseProgramRecord(text)).filter((found) => found !== undefined);
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(...known.flatMap(({ message, error }) => [message, error])),
    fc.constantFrom(
      'iptables-'.repeat(9000),
      'No such file or directory'.repeat(3000),
      '\nadd rule ip x '.repeat(5000),
    ),
  );
  forAll(
    [
      fc.record({
        program: fc.constantFrom('kube-proxy', 'felix', 'confd', 'bird', 'calico-node', 'unknown'),
        severity: fc.constantFrom('debug', 'info', 'warning', 'error', 'fatal'),
        caller: fc.constantFrom('', 'proxier.go', 'server.go', 'felix/table.go', 'cleanup.go'),
        message: fc.tuple(text, text).map(([a, b]) => a + b),
        error: text,
        fields: fc.dictionary(
          fc.constantFrom('chainName', 'ipFamily', 'retryingTime', 'table', 'dstChain', 'reason'),
          text,
        ),
      }),
    ],
    {},
    (parts) => {
      const sign = signOf(record(parts));
      if (sign?.kind !== 'failure') return;
      expect(causeOf(sign.code).programs).toContain(sign.failing);
      expect(sign.quote.length).toBeLessThanOrEqual(200);
      expect(sign.subject?.length ?? 0).toBeLessThanOrEqual(160);
      expect(`${sign.quote}${sign.subject ?? ''}`).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u);
      expect(['', 'IPv4', 'IPv6']).toContain(sign.family);
    },
  );
});

it.each(['info', 'debug'] as const)('treats a failure as information if it is logged as %s', (severity) => {
  const failures = lines.flatMap(({ text, sign }) => {
    if (sign === undefined || ['sync', 'KN301', 'KN207'].includes(sign)) return [];
    const found = parseProgramRecord(text);
    return found === undefined || found.program === 'bird' || found.severity === 'info' ? [] : [found];
  });
  expect(failures.length).toBeGreaterThan(100);
  expect(failures.flatMap((found) => signOf({ ...found, severity }) ?? [])).toEqual([]);
});

it("does not mistake a failure of one program for another's", () => {
  const records = lines.flatMap(({ text }) => {
    const found = parseProgramRecord(text);
    return found?.program === 'kube-proxy' && found.severity !== 'fatal' ? [found] : [];
  });
  expect(records.length).toBeGreaterThan(100);
  for (const program of ['bird', 'confd', 'unknown'] as const)
    expect(records.flatMap((found) => signOf({ ...found, program }) ?? [])).toEqual([]);
});

it.each<[TableReport, Partial<FailureSign>]>(tables.reports)('finds the table of %j', (report, sign) => {
  expect(signOf(report)).toMatchObject({ kind: 'failure', failing: 'kernel', backend: undefined, ...sign });
});

it.each(tables.modules)('names the modules of the %s extensions %s', (ipFamily, extensions, modules) => {
  const signs = extensions.split(' ').map((name) =>
    signOf(
      record({
        message: 'Failed to execute iptables-restore',
        error: `iptables-restore v1.8.9 (legacy): Couldn't load ${/[A-Z]/.test(name) ? 'target' : 'match'} \`${name}':No such file or directory`,
        fields: { ipFamily },
      }),
    ),
  );
  expect(signs.map((sign) => sign?.kind === 'failure' && sign.subject).join(' ')).toBe(modules);
});

it.each(tables.retries)('reads that the next attempt is in %s', (retryingTime, retry) => {
  expect(signOf(record({ severity: 'info', message: 'Sync failed', fields: { retryingTime } }))).toMatchObject({
    kind: 'sync-failed',
    retry,
  });
});

it('puts the inner cause before its consequence', () => {
  const order = causes.map(({ code }) => code);
  const before = (inner: string, outer: string) => expect(order.indexOf(inner)).toBeLessThan(order.indexOf(outer));
  for (const inner of ['KN102', 'KN103', 'KN104', 'KN105', 'KN106', 'KN109']) {
    for (const outer of ['KN107', 'KN108', 'KN111', 'KN201']) before(inner, outer);
  }
});

it.each(['server.go', 'server_linux.go', 'app/server_others.go'])(
  'says that kube-proxy does not start where %s logs a fatal record',
  (caller) => expect(signOf(record({ severity: 'fatal', caller }))).toMatchObject({ code: 'KN116' }),
);
