import type { Cause } from '../../../../src/explain/incidents/catalogue/cause.ts';
import type { FelixSettings, IncidentDetails, NodeFacts } from '../../../../src/base/model/incident.ts';
import { felixSettings, nine, noFacts } from '../../../builders.ts';
import { detailsOf, factsOf, quotes } from './details.ts';

type FactsRow = Omit<Partial<NodeFacts>, 'namespacePod'> & { namespacePod?: string };
type Row = [name: string, special: Omit<Partial<IncidentDetails>, 'facts'> & { facts?: FactsRow }];

const tables: { ofCause: Record<string, Row[]> } = {
  // Facts that may change only one cause of an incident: a name for them, and how the incident differs from a usual
  // one.
  ofCause: {
    KN102: [['two chains', { subjects: ['KUBE-SVC-Q5DTBKX2YJ7RCW6N', 'KUBE-SEP-TCOU7JCQXEZGVUNU'] }]],
    KN103: [['KUBE-MARK-DROP', { subjects: ['KUBE-MARK-DROP'] }]],
    KN105: [
      ['two modules', { subjects: ['nf_conntrack', 'xt_set'] }],
      ['xt_MASQUERADE', { subjects: ['xt_MASQUERADE'] }],
      ['xt_mark for IPv6', { subjects: ['xt_mark'], families: ['IPv6'] }],
      ['a legacy table', { subjects: ['iptable_nat'] }],
      ['a legacy table of felix', { subjects: ['iptable_filter'], failing: 'felix' }],
    ],
    KN116: [
      ['no nft', { subjects: [], quote: 'could not find nftables binary' }],
      ['an old nft', { subjects: [], quote: 'nft version must be v1.0.1 or later' }],
      ['an old kernel', { subjects: [], quote: 'nftables mode requires kernel 5.13 or later' }],
      [
        'no iptables',
        { subjects: [], quote: 'iptables is not available on this host : exec: executable file not found' },
      ],
      ['no ipset', { subjects: [], quote: 'error getting ipset version, error: executable file not found in $PATH' }],
      ['nft may not', { subjects: [], quote: 'could not run nftables command: Operation not permitted' }],
    ],
    KN119: [
      ['forbidden', { quote: 'services is forbidden' }],
      ['refused', { quote: 'dial tcp 10.0.0.1:6443: connect: connection refused' }],
    ],
    KN120: [['no program', { quote: 'executable file not found in $PATH' }]],
    KN123: [["the interface's own address", { subjects: ['fe80::1'] }]],
    KN208: [
      ['no address', { subjects: [], quote: "Couldn't autodetect an IPv4 address." }],
      ['an address twice', { quote: "Calico node 'node-b' is already using the IPv4 address 10.0.1.7." }],
    ],
    KN209: [
      ['an old kernel', { quote: 'BPF dataplane mode enabled but not supported by the kernel.', subjects: [] }],
      ['the verifier', { quote: 'kernel BPF verifier rejected the program' }],
      ['no cgroup', { quote: 'failed to attach to cgroup' }],
      ['maps of another release', { quote: 'error reusing pinned map' }],
    ],
    KN401: [
      ["the host's table", { subjects: ['the host'], facts: { conntrack: { count: 262144, max: 262144 } } }],
      [
        'a table of a namespace, named by its line',
        { subjects: ['network namespace 4026532317'], facts: { namespacePod: 'nobody' } },
      ],
      [
        "a table of a namespace, since the host's has room",
        { subjects: ['the host'], facts: { conntrack: { count: 120, max: 262144 }, namespacePod: 'nobody' } },
      ],
      [
        'a table of a Pod',
        { subjects: ['shop/crawler-0'], facts: { conntrack: { count: 120, max: 262144 }, namespacePod: 'uid' } },
      ],
      ['whose table is not known', { subjects: ['the host'], facts: { conntrack: { count: undefined, max: 262144 } } }],
      ['top sources', { facts: { topSources: [{ name: 'shop/crawler-0 (10.244.0.7)', connections: 190000 }] } }],
    ],
    KN405: [['overloaded', { quote: 'all destinations are overloaded' }]],
    KN404: [
      [
        'as it is read',
        {
          subjects: ['the host'],
          facts: {
            conntrack: { count: 240000, max: 262144 },
            topSources: [{ name: 'shop/crawler-0 (10.244.0.7)', connections: 190000 }],
          },
        },
      ],
    ],
  },
};

/** A name for the special fact, and the fact. */
type Situation = readonly [name: string, special: Partial<IncidentDetails>];

const chains = ['KUBE-SVC-Q5DTBKX2YJ7RCW6N', 'KUBE-SEP-TCOU7JCQXEZGVUNU'];
const modules = ['nf_conntrack', 'xt_set'];

const felix = (given: Partial<FelixSettings>): Partial<IncidentDetails> => ({
  facts: factsOf({ felix: { kind: 'settings', settings: felixSettings(given) } }),
});
const eBpf = { bpfEnabled: true, bpfFrom: 'default' };

/** Facts that may make a difference for any cause, one at a time. */
const differences: readonly Situation[] = [
  ['no subject', { subjects: [] }],
  ['more subjects', { moreSubjects: 4 }],
  ['IPv4', { families: ['IPv4'] }],
  ['IPv6', { families: ['IPv6'] }],
  ['failing Pod unknown', { failingPod: undefined }],
  [
    'kube-proxy without a Pod',
    { failing: 'kube-proxy', failingPod: undefined, facts: factsOf({ kubeProxyHere: false }) },
  ],
  ...(['kube-proxy', 'kube-router', 'felix', 'bird', 'unknown'] as const).map((failing): Situation => [
    failing,
    { failing },
  ]),
  ...quotes.map((quote): Situation => [`"${quote}"`, { quote }]),
  ['one restart', { restarts: 1 }],
  ['three restarts', { restarts: 3 }],
  ['no kube-proxy here', { facts: factsOf({ kubeProxyHere: false }) }],
  ['the firewall began to drop', { facts: factsOf({ firewallDropsSince: nine }) }],
  ['eBPF works', { facts: factsOf({ ebpf: true }) }],
  ['eBPF does not work', { facts: factsOf({ ebpf: false }) }],
  ['eBPF is on', felix(eBpf)],
  ['eBPF is on for the node', felix({ bpfEnabled: true, bpfFrom: 'node.node-b' })],
  ['eBPF and its cleanup are on', felix({ ...eBpf, bpfKubeProxyIptablesCleanupEnabled: true, cleanupFrom: 'default' })],
  [
    'cleanup is on for the node',
    felix({ ...eBpf, bpfKubeProxyIptablesCleanupEnabled: true, cleanupFrom: 'node.node-b' }),
  ],
  ['two backends', { facts: factsOf({ backends: { 'kube-proxy': 'nf_tables', felix: 'legacy' } }) }],
  ['two backends, the other way', { facts: factsOf({ backends: { 'kube-proxy': 'legacy', felix: 'nf_tables' } }) }],
];

/** With `nobody`, the table belongs to a namespace whose Pod is unknown. */
function situationOf([name, { facts: { namespacePod, ...facts } = {}, ...special }]: Row): Situation {
  const owner = namespacePod === 'nobody' ? null : namespacePod;
  return [name, { ...special, facts: factsOf({ ...facts, ...(owner === undefined ? {} : { namespacePod: owner }) }) }];
}

/** Facts that may change only one cause. */
const ofCause: Readonly<Record<string, readonly Situation[]>> = Object.fromEntries(
  Object.entries(tables.ofCause).map(([code, rows]) => [code, rows.map(situationOf)]),
);

/** Subjects that are not chains. */
const subjectsOf: Readonly<Record<string, string[]>> = {
  KN105: modules.slice(0, 1),
  KN115: ['KUBE-CLUSTER-IP'],
  KN116: modules.slice(0, 1),
  KN118: ['0.0.0.0:10256'],
  KN119: ['10.0.0.1:6443'],
  KN120: ['kube-system/kube-dns:dns'],
  KN121: ['31400 of shop/web:http'],
  KN122: ['filter FORWARD'],
  KN123: ['10.96.3.4'],
  KN206: ['kns.shop'],
  KN207: ['10.96.0.1:443'],
  KN208: ['10.0.1.7 of node-a'],
  KN209: ['eth0'],
  KN210: [],
  KN301: ['10.0.1.7'],
  KN302: ['10.0.1.7'],
  KN405: ['10.96.0.30:80/TCP'],
};

/** Everything that can change a sentence of the cause, each with a name. The first situation is the usual one. */
export function situationsOf({ code, programs: [failing = 'kernel'] }: Cause): (readonly [string, IncidentDetails])[] {
  const usual: Partial<IncidentDetails> = {
    code,
    diagnosis: code,
    failing,
    // Pods of test/e2e/docs/cluster.ts, because commands that an Event advises are run there.
    failingPod:
      failing === 'kube-proxy' || failing === 'kernel'
        ? 'kube-system/kube-proxy-9r5cn'
        : 'calico-system/calico-node-9fz4d',
    families: ['IPv4', 'IPv6'],
    subjects: subjectsOf[code] ?? chains.slice(0, 1),
    facts: noFacts,
  };
  return [['', {}] as const, ...differences, ...(ofCause[code] ?? [])].map(([name, special]) => [
    name,
    detailsOf({ ...usual, ...special }),
  ]);
}
