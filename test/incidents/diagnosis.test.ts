import { expect, test } from 'vitest';
import type { Symptoms } from '../../src/incidents/catalogue/cause.ts';
import { diagnose, hints } from '../../src/incidents/catalogue/catalogue.ts';
import type { FelixSettings, NodeFacts } from '../../src/model/incident.ts';
import { felixSettings, nine, noFacts } from '../builders.ts';

function felixWith(some: Partial<FelixSettings>, facts: Partial<NodeFacts> = {}): NodeFacts {
  return { ...noFacts, ...facts, felix: { kind: 'settings', settings: felixSettings(some) } };
}

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
/** Codes that `facts` explain by another. */
const explained = (facts: NodeFacts, symptoms: Symptoms): string[] =>
  codes.filter((code) => diagnose(code, facts, symptoms) !== code);

test('without facts every code stays as it is', () => {
  expect(explained(noFacts, again)).toEqual([]);
  expect(explained(noFacts, once)).toEqual([]);
});

test('felix deletes the chains of kube-proxy explains that chains, jumps and tables are gone', () => {
  expect(explained(bpf, again)).toEqual(['KN102', 'KN103', 'KN107', 'KN108', 'KN111']);
  expect(diagnose('KN102', bpf, again)).toBe('KN101');
});

test.each<[string, NodeFacts, Partial<Symptoms>, string]>([
  ['cleanup on', felixWith({ bpfEnabled: true, bpfKubeProxyIptablesCleanupEnabled: true }), {}, 'KN101'],
  ['cleanup off', felixWith({ bpfEnabled: true, bpfKubeProxyIptablesCleanupEnabled: false }), {}, 'KN102'],
  ['no BPF', felixWith({ bpfEnabled: false }), {}, 'KN102'],
  ['BPF not set', felixWith({ bpfKubeProxyIptablesCleanupEnabled: true }), {}, 'KN102'],
  ['no Calico', { ...noFacts, felix: { kind: 'absent' } }, {}, 'KN102'],
  ['not readable', { ...noFacts, felix: { kind: 'unreadable', reason: 'forbidden' } }, {}, 'KN102'],
  ['kube-proxy without a Pod', { ...bpf, kubeProxyHere: false }, {}, 'KN101'],
  ['an unknown program, kube-proxy is here', { ...bpf, kubeProxyHere: true }, { failing: 'unknown' }, 'KN101'],
  ['an unknown program, no kube-proxy', { ...bpf, kubeProxyHere: false }, { failing: 'unknown' }, 'KN102'],
  ['felix itself', { ...bpf, kubeProxyHere: true }, { failing: 'felix' }, 'KN102'],
  ['no eBPF in the kernel', { ...bpf, ebpf: false }, {}, 'KN102'],
  ['eBPF is on', { ...bpf, ebpf: true }, {}, 'KN101'],
  ['a chain that felix deletes', bpf, { subjects: ['KUBE-SVC-UOLAULR5MHUYULMB'] }, 'KN101'],
  ['a shared one it deletes', bpf, { subjects: ['KUBE-EXTERNAL-SERVICES'] }, 'KN101'],
  ['one that it leaves', bpf, { subjects: ['KUBE-MARK-MASQ'] }, 'KN102'],
  ['one of newer releases that it leaves', bpf, { subjects: ['KUBE-SVL-UOLAULR5MHUYULMB'] }, 'KN102'],
  ['one of several', bpf, { subjects: ['KUBE-MARK-MASQ', 'KUBE-SEP-SXIVWICOYRO3J4NJ'] }, 'KN101'],
  ['a subject that is no chain', bpf, { subjects: ['line 177'] }, 'KN101'],
])('felix deletes the chains of kube-proxy: %s', (_, facts, some, expected) => {
  expect(diagnose('KN102', facts, { ...again, ...some })).toBe(expected);
});

test('felix deletes the chains of kube-proxy goes before two backends and a firewall', () => {
  expect(diagnose('KN102', { ...bpf, backends: mixed.backends, firewallDropsSince: nine }, once)).toBe('KN101');
});

test('two backends: explain failing and overwritten rules of iptables', () => {
  expect(explained(mixed, again)).toEqual(['KN102', 'KN103', 'KN107', 'KN108', 'KN109', 'KN201', 'KN202', 'KN204']);
  expect(diagnose('KN204', mixed, again)).toBe('KN110');
});

test.each<[string, NodeFacts, string]>([
  ['the same', { ...noFacts, backends: { 'kube-proxy': 'legacy', felix: 'legacy' } }, 'KN204'],
  ['only one seen', { ...noFacts, backends: { 'kube-proxy': 'legacy' } }, 'KN204'],
  ['others', { ...noFacts, backends: { 'kube-proxy': 'legacy', unknown: 'nf_tables' } }, 'KN204'],
  ['felix is set to another', felixWith({ iptablesBackend: 'NFT' }, { backends: { 'kube-proxy': 'legacy' } }), 'KN110'],
  ['in any case', felixWith({ iptablesBackend: 'lEGACY' }, { backends: { 'kube-proxy': 'nf_tables' } }), 'KN110'],
  [
    'felix is set to the same',
    felixWith({ iptablesBackend: 'Legacy' }, { backends: { 'kube-proxy': 'legacy' } }),
    'KN204',
  ],
  ['felix chooses', felixWith({ iptablesBackend: 'Auto' }, { backends: { 'kube-proxy': 'legacy' } }), 'KN204'],
  [
    'what is seen counts more',
    felixWith({ iptablesBackend: 'NFT' }, { backends: { 'kube-proxy': 'legacy', felix: 'legacy' } }),
    'KN204',
  ],
  [
    'felix without iptables',
    felixWith({ iptablesBackend: 'NFT', nftablesMode: 'Enabled' }, { backends: { 'kube-proxy': 'legacy' } }),
    'KN204',
  ],
])('two backends: %s', (_, facts, expected) => {
  expect(diagnose('KN204', facts, again)).toBe(expected);
});

test('a reload of the firewall explains what happened once when it began to drop', () => {
  expect(explained(reload, once)).toEqual(['KN102', 'KN103', 'KN107', 'KN108', 'KN204']);
  expect(diagnose('KN204', reload, { ...once, failing: 'felix' })).toBe('KN205');
});

test('a reload of the firewall does not explain what goes on', () => {
  expect(explained(reload, { ...once, last: nine + 10_001 })).toEqual([]);
});

test.each([60_001, -60_001])('a reload of the firewall does not explain drops that began %d ms apart', (apart) => {
  expect(explained({ ...noFacts, firewallDropsSince: nine + apart }, once)).toEqual([]);
});

test('a reload of the firewall: once: not two backends, which would last', () => {
  expect(diagnose('KN204', { ...mixed, firewallDropsSince: nine }, once)).toBe('KN205');
  expect(diagnose('KN204', { ...mixed, firewallDropsSince: nine }, again)).toBe('KN110');
});

const hintsOn = (facts: NodeFacts, code = 'KN102', diagnosis = code): string[] => hints({ code, diagnosis, facts });

const forbidden: NodeFacts = { ...noFacts, felix: { kind: 'unreadable', reason: 'forbidden' } };

test('no hint is given where all is known', () => {
  expect(hintsOn(noFacts)).toEqual([]);
  expect(hintsOn(bpf, 'KN102', 'KN101')).toEqual([]);
  expect(hintsOn({ ...noFacts, felix: { kind: 'absent' } })).toEqual([]);
});

test('the conflict that could not be looked for', () => {
  const hint = hintsOn(forbidden);
  const other = hintsOn({ ...noFacts, felix: { kind: 'unreadable', reason: 'failed' } });
  expect([hint.length, other.length]).toEqual([1, 1]);
  expect(hint).not.toEqual(other);
});

test.each([
  ['KN104', 'KN104'],
  ['KN301', 'KN301'],
  ['KN102', 'KN110'],
])('no hint is given where it would explain nothing: %s, diagnosed as %s', (code, diagnosis) => {
  expect(hintsOn(forbidden, code, diagnosis)).toEqual([]);
});

test.each([
  ['Error', true],
  ['FATAL', true],
  ['None', true],
  ['panic', true],
  ['Warning', false],
  ['Info', false],
  ['Whatever', false],
])('a log without warnings: %s', (logSeverityScreen, shown) => {
  expect(hintsOn(felixWith({ logSeverityScreen }), 'KN204')).toEqual(
    shown ? [expect.stringContaining(`${logSeverityScreen} `)] : [],
  );
  expect(hintsOn(felixWith({ logSeverityScreen }), 'KN301')).toEqual([]);
});

test('both backends, unless that is the diagnosis', () => {
  const expected = [expect.stringMatching(/\blegacy\b.*\bnf_tables\b/)];
  expect(hintsOn(mixed, 'KN104')).toEqual(expected);
  expect(hintsOn(mixed, 'KN102', 'KN101')).toEqual(expected);
  expect(hintsOn(mixed, 'KN102', 'KN110')).toEqual([]);
  expect(hintsOn(mixed, 'KN401')).toEqual([]);
});

test('at most two short hints are given', () => {
  const all = felixWith({ logSeverityScreen: 'Error' }, mixed);
  for (const given of [hintsOn(all, 'KN104'), hintsOn({ ...forbidden, backends: mixed.backends })]) {
    expect(given).toHaveLength(2);
    for (const hint of given) expect(Buffer.byteLength(hint)).toBeLessThanOrEqual(160);
  }
});
