import { expect, test } from 'vitest';
import type { Symptoms } from '../../../src/explain/incidents/catalogue/cause.ts';
import { diagnose, hints } from '../../../src/explain/incidents/catalogue/catalogue.ts';
import type { FelixSettings, NodeFacts } from '../../../src/base/model/incident.ts';
import { felixSettings, nine, noFacts } from '../../builders.ts';

/** Settings of Felix that are left out are not set. */
type Facts = Partial<Omit<NodeFacts, 'felix'>> & {
  felix?: Exclude<NodeFacts['felix'], { settings: object }> | { kind: 'settings'; settings: Partial<FelixSettings> };
};

/** Facts of a Node that explain failures. */
const tables: {
  deleting: [string, Facts, Partial<Symptoms>, string][];
  backends: [string, Facts, string][];
  severities: [string, boolean][];
} = {
  // Whether Felix deletes kube-proxy's chains: a title, facts, symptoms, and the diagnosis of KN102.
  deleting: [
    [
      'cleanup on',
      { felix: { kind: 'settings', settings: { bpfEnabled: true, bpfKubeProxyIptablesCleanupEnabled: true } } },
      {},
      'KN101',
    ],
    [
      'cleanup off',
      { felix: { kind: 'settings', settings: { bpfEnabled: true, bpfKubeProxyIptablesCleanupEnabled: false } } },
      {},
      'KN102',
    ],
    ['no BPF', { felix: { kind: 'settings', settings: { bpfEnabled: false } } }, {}, 'KN102'],
    [
      'BPF not set',
      { felix: { kind: 'settings', settings: { bpfKubeProxyIptablesCleanupEnabled: true } } },
      {},
      'KN102',
    ],
    ['no Calico', { felix: { kind: 'absent' } }, {}, 'KN102'],
    ['not readable', { felix: { kind: 'unreadable', reason: 'forbidden' } }, {}, 'KN102'],
    [
      'kube-proxy without a Pod',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } }, kubeProxyHere: false },
      {},
      'KN101',
    ],
    [
      'an unknown program, kube-proxy is here',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } }, kubeProxyHere: true },
      { failing: 'unknown' },
      'KN101',
    ],
    [
      'an unknown program, no kube-proxy',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } }, kubeProxyHere: false },
      { failing: 'unknown' },
      'KN102',
    ],
    [
      'felix itself',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } }, kubeProxyHere: true },
      { failing: 'felix' },
      'KN102',
    ],
    [
      'no eBPF in the kernel',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } }, ebpf: false },
      {},
      'KN102',
    ],
    ['eBPF is on', { felix: { kind: 'settings', settings: { bpfEnabled: true } }, ebpf: true }, {}, 'KN101'],
    [
      'a chain that felix deletes',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } } },
      { subjects: ['KUBE-SVC-UOLAULR5MHUYULMB'] },
      'KN101',
    ],
    [
      'a shared one it deletes',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } } },
      { subjects: ['KUBE-EXTERNAL-SERVICES'] },
      'KN101',
    ],
    [
      'one that it leaves',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } } },
      { subjects: ['KUBE-MARK-MASQ'] },
      'KN102',
    ],
    [
      'one of newer releases that it leaves',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } } },
      { subjects: ['KUBE-SVL-UOLAULR5MHUYULMB'] },
      'KN102',
    ],
    [
      'one of several',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } } },
      { subjects: ['KUBE-MARK-MASQ', 'KUBE-SEP-SXIVWICOYRO3J4NJ'] },
      'KN101',
    ],
    [
      'a subject that is no chain',
      { felix: { kind: 'settings', settings: { bpfEnabled: true } } },
      { subjects: ['line 177'] },
      'KN101',
    ],
  ],
  // Whether two backends are mixed: a title, facts, and the diagnosis of KN204.
  backends: [
    ['the same', { backends: { 'kube-proxy': 'legacy', felix: 'legacy' } }, 'KN204'],
    ['only one seen', { backends: { 'kube-proxy': 'legacy' } }, 'KN204'],
    ['others', { backends: { 'kube-proxy': 'legacy', unknown: 'nf_tables' } }, 'KN204'],
    [
      'felix is set to another',
      { felix: { kind: 'settings', settings: { iptablesBackend: 'NFT' } }, backends: { 'kube-proxy': 'legacy' } },
      'KN110',
    ],
    [
      'in any case',
      { felix: { kind: 'settings', settings: { iptablesBackend: 'lEGACY' } }, backends: { 'kube-proxy': 'nf_tables' } },
      'KN110',
    ],
    [
      'felix is set to the same',
      { felix: { kind: 'settings', settings: { iptablesBackend: 'Legacy' } }, backends: { 'kube-proxy': 'legacy' } },
      'KN204',
    ],
    [
      'felix chooses',
      { felix: { kind: 'settings', settings: { iptablesBackend: 'Auto' } }, backends: { 'kube-proxy': 'legacy' } },
      'KN204',
    ],
    [
      'an observed backend counts more',
      {
        felix: { kind: 'settings', settings: { iptablesBackend: 'NFT' } },
        backends: { 'kube-proxy': 'legacy', felix: 'legacy' },
      },
      'KN204',
    ],
    [
      'felix without iptables',
      {
        felix: { kind: 'settings', settings: { iptablesBackend: 'NFT', nftablesMode: 'Enabled' } },
        backends: { 'kube-proxy': 'legacy' },
      },
      'KN204',
    ],
  ],
  severities: [
    ['Error', true],
    ['FATAL', true],
    ['None', true],
    ['panic', true],
    ['Warning', false],
    ['Info', false],
    ['Whatever', false],
  ],
};

function factsOf({ felix, ...facts }: Facts): NodeFacts {
  const settings = felix?.kind === 'settings' ? { ...felix, settings: felixSettings(felix.settings) } : felix;
  return { ...noFacts, ...facts, felix: settings };
}

const felixWith = (some: Partial<FelixSettings>, facts: Partial<NodeFacts> = {}): NodeFacts =>
  factsOf({ ...facts, felix: { kind: 'settings', settings: felixSettings(some) } });

const again: Symptoms = { failing: 'kube-proxy', subjects: [], first: nine, last: nine + 30_000 };
const once: Symptoms = { ...again, last: nine + 10_000 };
const bpf = felixWith({ bpfEnabled: true });
const mixed: NodeFacts = { ...noFacts, backends: { 'kube-proxy': 'legacy', felix: 'nf_tables' } };
const reload: NodeFacts = { ...noFacts, firewallDropsSince: nine + 60_000 };

const codes = [
  ...Array.from({ length: 17 }, (_, index) => `KN1${String(index + 1).padStart(2, '0')}`),
  ...Array.from({ length: 7 }, (_, index) => `KN20${index + 1}`),
  'KN301',
  'KN302',
  'KN401',
  'KN402',
  'KN403',
  'KN404',
];
/** The codes that `facts` explain by another code. */
const explained = (facts: NodeFacts, symptoms: Symptoms): string[] =>
  codes.filter((code) => diagnose(code, facts, symptoms) !== code);

test('without facts, every code stays', () => {
  expect(explained(noFacts, again)).toEqual([]);
  expect(explained(noFacts, once)).toEqual([]);
});

test('felix deleting the chains of kube-proxy explains missing chains, jumps and tables', () => {
  expect(explained(bpf, again)).toEqual(['KN102', 'KN103', 'KN107', 'KN108', 'KN111']);
  expect(diagnose('KN102', bpf, again)).toBe('KN101');
});

test.each(tables.deleting)('felix deletes the chains of kube-proxy: %s', (_, facts, some, expected) => {
  expect(diagnose('KN102', factsOf(facts), { ...again, ...some })).toBe(expected);
});

test('felix deleting the chains of kube-proxy has precedence over two backends and a firewall', () => {
  expect(diagnose('KN102', { ...bpf, backends: mixed.backends, firewallDropsSince: nine }, once)).toBe('KN101');
});

test('two backends explain failing and overwritten rules of iptables', () => {
  expect(explained(mixed, again)).toEqual(['KN102', 'KN103', 'KN107', 'KN108', 'KN109', 'KN201', 'KN202', 'KN204']);
  expect(diagnose('KN204', mixed, again)).toBe('KN110');
});

test.each(tables.backends)('two backends: %s', (_, facts, expected) => {
  expect(diagnose('KN204', factsOf(facts), again)).toBe(expected);
});

test('a reload of the firewall explains single failures when it began to drop', () => {
  expect(explained(reload, once)).toEqual(['KN102', 'KN103', 'KN107', 'KN108', 'KN204']);
  expect(diagnose('KN204', reload, { ...once, failing: 'felix' })).toBe('KN205');
});

test('a reload of the firewall does not explain continuing failures', () => {
  expect(explained(reload, { ...once, last: nine + 10_001 })).toEqual([]);
});

test.each([60_001, -60_001])('a reload of the firewall does not explain drops that began %d ms apart', (apart) => {
  expect(explained({ ...noFacts, firewallDropsSince: nine + apart }, once)).toEqual([]);
});

test('a reload of the firewall explains a single failure, which two backends would not', () => {
  expect(diagnose('KN204', { ...mixed, firewallDropsSince: nine }, once)).toBe('KN205');
  expect(diagnose('KN204', { ...mixed, firewallDropsSince: nine }, again)).toBe('KN110');
});

const hintsOn = (facts: NodeFacts, code = 'KN102', diagnosis = code): string[] => hints({ code, diagnosis, facts });

const forbidden: NodeFacts = { ...noFacts, felix: { kind: 'unreadable', reason: 'forbidden' } };

test('no hint is given if all facts are known', () => {
  expect(hintsOn(noFacts)).toEqual([]);
  expect(hintsOn(bpf, 'KN102', 'KN101')).toEqual([]);
  expect(hintsOn({ ...noFacts, felix: { kind: 'absent' } })).toEqual([]);
});

test('a hint names a conflict that could not be checked', () => {
  const hint = hintsOn(forbidden);
  const other = hintsOn({ ...noFacts, felix: { kind: 'unreadable', reason: 'failed' } });
  expect([hint.length, other.length]).toEqual([1, 1]);
  expect(hint).not.toEqual(other);
});

test.each([
  ['KN104', 'KN104'],
  ['KN301', 'KN301'],
  ['KN102', 'KN110'],
])('no hint is given if it would explain nothing: %s, diagnosed as %s', (code, diagnosis) => {
  expect(hintsOn(forbidden, code, diagnosis)).toEqual([]);
});

test.each(tables.severities)('a log without warnings: %s', (logSeverityScreen, shown) => {
  expect(hintsOn(felixWith({ logSeverityScreen }), 'KN204')).toEqual(
    shown ? [expect.stringContaining(`${logSeverityScreen} `)] : [],
  );
  expect(hintsOn(felixWith({ logSeverityScreen }), 'KN301')).toEqual([]);
});

test('both backends are a hint, unless they are the diagnosis', () => {
  const expected = [expect.stringMatching(/\blegacy\b.*\bnf_tables\b/)];
  expect(hintsOn(mixed, 'KN104')).toEqual(expected);
  expect(hintsOn(mixed, 'KN102', 'KN101')).toEqual(expected);
  expect(hintsOn(mixed, 'KN102', 'KN110')).toEqual([]);
  expect(hintsOn(mixed, 'KN401')).toEqual([]);
});

test('gives at most two short hints', () => {
  const all = felixWith({ logSeverityScreen: 'Error' }, mixed);
  for (const given of [hintsOn(all, 'KN104'), hintsOn({ ...forbidden, backends: mixed.backends })]) {
    expect(given).toHaveLength(2);
    for (const hint of given) expect(Buffer.byteLength(hint)).toBeLessThanOrEqual(160);
  }
});
