import fc from 'fast-check';
import type { IncidentDetails, NodeFacts } from '../../../../src/base/model/incident.ts';
import { causes } from '../../../../src/explain/incidents/catalogue/catalogue.ts';
import { incidentDetails, noFacts } from '../../../builders.ts';

const tables: { quotes: string[] } = {
  // Facts that change the text of a cause.
  quotes: [
    'you must be root',
    'Permission denied',
    'table `nat’ is incompatible',
    'unknown option "--x"',
    'bird.ctl',
    'x509: expired',
    'ipset',
    'parseIP Error',
    'open iptables lock',
    'signal: killed',
    'No such file or directory',
    'Please, rise /proc/sys/net/core/wmem_max on the host namespace. Hint: 4194304 bytes',
    'iptables-legacy-save command failed after retries',
  ],
};

/** An incident of kube-proxy; `parts` has what the test is about. */
export function detailsOf(parts: Partial<IncidentDetails> = {}): IncidentDetails {
  return incidentDetails({
    code: 'KN102',
    diagnosis: 'KN102',
    failing: 'kube-proxy',
    failingPod: 'kube-system/kube-proxy-x7k2p',
    since: 1_795_226_670_836,
    last: 1_795_226_730_836,
    failures: 3,
    families: ['IPv4'],
    quote: '',
    ...parts,
  });
}

export function factsOf(parts: Partial<NodeFacts>): NodeFacts {
  return { ...noFacts, ...parts };
}

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constant('x'.repeat(5000)),
  fc.constant(`${'y'.repeat(24)} ${'z'.repeat(25)}`),
  fc.constant('é\n\u2028\u202e'.repeat(400)),
  fc.constantFrom(
    'KUBE-SVC-Q5DTBKX2YJ7RCW6N',
    'ip6t_rpfilter',
    'xt_mark',
    'xt_MASQUERADE',
    'KUBE-MARK-DROP',
    'nf_conntrack',
  ),
);
/** Facts that change the text of a cause. */
export const quotes = tables.quotes;
const quote = fc.oneof(anyText, fc.constantFrom(...quotes));
const failing = fc.constantFrom('kube-proxy', 'felix', 'confd', 'bird', 'calico-node', 'unknown', 'kernel');
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const anyNumber = fc.oneof(fc.nat(), fc.double(), fc.constantFrom(0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e21));
const backend = fc.constantFrom('legacy' as const, 'nf_tables' as const);

const facts: fc.Arbitrary<NodeFacts> = fc.record({
  felix: fc.oneof(
    fc.constantFrom(
      undefined,
      { kind: 'absent' as const },
      { kind: 'unreadable' as const, reason: 'forbidden' as const },
      { kind: 'unreadable' as const, reason: 'failed' as const },
    ),
    fc
      .record({
        bpfEnabled: maybe(fc.boolean()),
        bpfKubeProxyIptablesCleanupEnabled: maybe(fc.boolean()),
        logSeverityScreen: maybe(fc.oneof(anyText, fc.constantFrom('Error', 'Warning', 'Fatal', 'none'))),
        iptablesBackend: maybe(anyText),
        nftablesMode: maybe(anyText),
        cleanupFrom: maybe(fc.oneof(anyText, fc.constantFrom('default', 'node.node-a', `node.${'n'.repeat(250)}`))),
        bpfFrom: maybe(fc.oneof(anyText, fc.constantFrom('default', 'node.node-a', `node.${'n'.repeat(250)}`))),
      })
      .map((settings) => ({ kind: 'settings' as const, settings })),
  ),
  ebpf: maybe(fc.boolean()),
  kubeProxyHere: maybe(fc.boolean()),
  conntrack: maybe(fc.record({ count: maybe(anyNumber), max: maybe(anyNumber) })),
  topSources: fc.array(fc.record({ name: anyText, connections: anyNumber }), { maxLength: 5 }),
  backends: fc.record(
    { 'kube-proxy': backend, felix: backend, 'calico-node': backend, unknown: backend },
    { requiredKeys: [] },
  ),
  firewallDropsSince: maybe(anyNumber),
});

/** Any details of an incident, most of them foreign text. */
export const anyDetails: fc.Arbitrary<IncidentDetails> = fc.record({
  kind: fc.constant('incident' as const),
  role: fc.constantFrom('full' as const, 'pod-notice' as const),
  phase: fc.constantFrom('open' as const, 'over' as const),
  code: fc.constantFrom(...causes.map(({ code }) => code)),
  diagnosis: fc.constantFrom(...causes.map(({ code }) => code)),
  failing,
  failingPod: maybe(
    fc.oneof(anyText, fc.constant('kube-system/kube-proxy-x7k2p'), fc.constant(`${'a'.repeat(63)}/${'b'.repeat(253)}`)),
  ),
  since: anyNumber,
  last: anyNumber,
  failures: anyNumber,
  endedBy: fc.constantFrom('success' as const, 'silence' as const, undefined),
  ended: maybe(anyNumber),
  families: fc.array(fc.oneof(fc.constantFrom('IPv4', 'IPv6', ''), anyText), { maxLength: 3 }),
  subjects: fc.array(anyText, { maxLength: 8 }),
  moreSubjects: anyNumber,
  restarts: anyNumber,
  quote,
  services: fc.constant([]),
  moreServices: fc.nat(),
  facts,
  affected: fc.record({ count: fc.nat(), names: fc.array(anyText, { maxLength: 3 }) }),
});

export const anyNode = fc.oneof(
  fc.constant('node-a'),
  fc.constant(`ip-10-0-0-1.${'region.'.repeat(34)}internal`),
  anyText,
);
