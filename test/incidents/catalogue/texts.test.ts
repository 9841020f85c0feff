import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { causeOf, causes } from '../../../src/incidents/catalogue/catalogue.ts';
import type { Cause } from '../../../src/incidents/catalogue/cause.ts';
import { hints } from '../../../src/incidents/catalogue/diagnosis.ts';
import type { FelixSettings, IncidentDetails, NodeFacts } from '../../../src/model/incident.ts';
import { felixSettings, noFacts } from '../../builders.ts';
import { anyNode, anyDetails, factsOf, detailsOf } from './details.ts';

const bytes = (text: string) => Buffer.byteLength(text);

function textsOf(cause: Cause, details: IncidentDetails, node: string) {
  return {
    what: cause.what(details, node),
    why: cause.why(details, node),
    fix: cause.fix(details, node),
    impact: cause.impact?.(details),
  };
}

describe.each(causes.map((cause) => [cause.code, cause] as const))('%s', (code, cause) => {
  it('says whole sentences of bounded length whatever the details', () => {
    fc.assert(
      fc.property(anyDetails, anyNode, (details, node) => {
        for (const text of Object.values(textsOf(cause, details, node))) {
          if (text === undefined) continue;
          expect(bytes(text)).toBeLessThanOrEqual(300);
          expect(text).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u);
          expect(text.isWellFormed()).toBe(true);
          expect(text).not.toMatch(/\b(?:undefined|null|NaN|Infinity)\b|\[object/);
          expect(text).toMatch(/\S/);
          expect(text).not.toMatch(/^\s|\s$| {2}|—/);
        }
      }),
      { numRuns: 80 },
    );
  });

  it('leaves room for Services and Pods in an Event', () => {
    const details = detailsOf({
      code,
      diagnosis: code,
      failing: cause.programs[0] ?? 'kube-proxy',
      subjects: ['KUBE-SVC-Q5DTBKX2YJ7RCW6N', 'KUBE-SVC-TCOU7JCQXEZGVUNU'],
      moreSubjects: 4,
    });
    const { what, why, fix, impact } = textsOf(cause, details, 'ip-10-0-12-34.eu-central-1.compute.internal');
    expect(bytes(what) + bytes(why) + bytes(fix)).toBeLessThanOrEqual(640);
    for (const text of [what, why, fix]) expect(text).toMatch(/[.)]$|[a-z]\.$/);
    if (impact !== undefined) expect(bytes(impact)).toBeLessThanOrEqual(120);
    expect(what).toContain('ip-10-0-12-34');
  });

  it('has a sentence for Pods if it is serious, and none else', () => {
    expect(cause.impact === undefined).toBe(cause.severity === 'warning');
  });
});

const fixFor = (...subjects: string[]) => causeOf('KN105').fix(detailsOf({ subjects }), 'node-a');
const whyFor = (families: string[]) => causeOf('KN105').why(detailsOf({ subjects: ['xt_mark'], families }), 'node-a');

const settings = { bpfEnabled: true, bpfFrom: 'node.node-a' };
const felix = (parts: Partial<FelixSettings>) =>
  factsOf({ felix: { kind: 'settings', settings: felixSettings({ ...settings, ...parts }) } });

it.each([
  [true, 'Calico deletes its chains', /still runs and needs them\.$/],
  [
    undefined,
    'Calico is told to delete its chains',
    /needs them, unless the kernel lacks eBPF and felix does without\.$/,
  ],
])('KN101 claims no more than is known of eBPF: %s', (ebpf, what, why) => {
  const details = detailsOf({ facts: { ...felix({}), ebpf } });
  expect(causeOf('KN101').what(details, 'node-a')).toContain(what);
  expect(causeOf('KN101').why(details, 'node-a')).toMatch(why);
});

const chainFix = (ebpf: boolean) => causeOf('KN102').fix(detailsOf({ facts: { ...felix({}), ebpf } }), 'node-a');

it('KN102 does not send to settings that felix cannot heed', () => {
  expect(chainFix(true)).toContain('bpfKubeProxyIptablesCleanupEnabled');
  expect(chainFix(false)).not.toContain('bpf');
});

const restartFix = (kubeProxyHere: boolean) =>
  causeOf('KN117').fix(
    detailsOf({ failing: 'kube-proxy', failingPod: undefined, facts: factsOf({ kubeProxyHere }) }),
    'node-a',
  );

it('KN117 of a kube-proxy without a Pod sends to its unit', () => {
  expect(restartFix(false)).toContain('journalctl -u kube-proxy');
  expect(restartFix(true)).toContain('get pods');
});

it('KN101 patches the object that turned eBPF on', () => {
  expect(causeOf('KN101').fix(detailsOf({ facts: felix({}) }), 'node-a')).toContain(
    `kubectl patch felixconfiguration node.node-a --type=merge --patch='{"spec":{"bpfKubeProxyIptablesCleanupEnabled":false}}'`,
  );
  expect(causeOf('KN101').fix(detailsOf(), 'node-a')).toContain('felixconfiguration default --type=merge');
  const evil = felix({ bpfFrom: "default; rm -rf / '" });
  expect(causeOf('KN101').fix(detailsOf({ facts: evil }), 'node-a')).not.toContain('rm -rf');
});

it.each([
  ['node.node-a', 'default', 'node.node-a', 'FelixConfiguration default has bpfEnabled: true and node.node-a turns on'],
  ['default', 'node.node-a', 'node.node-a', 'FelixConfiguration node.node-a has bpfEnabled: true and default turns on'],
  ['default', 'default', 'default', 'FelixConfiguration default has bpfEnabled: true and turns on the cleanup'],
])('KN101, cleanup of %s and eBPF of %s: what is patched is %s', (cleanupFrom, bpfFrom, object, why) => {
  const details = detailsOf({ facts: felix({ cleanupFrom, bpfFrom, bpfKubeProxyIptablesCleanupEnabled: true }) });
  expect(causeOf('KN101').fix(details, 'node-a')).toContain(`kubectl patch felixconfiguration ${object} --type=merge`);
  expect(causeOf('KN101').why(details, 'node-a')).toContain(why);
});

it('KN105 names the modules for modprobe, and pastes nothing else', () => {
  expect(fixFor('ip6t_rpfilter')).toContain('modprobe -a ip6t_rpfilter;');
  expect(fixFor('ip_vs_rr ip_vs_wrr', 'xt_set')).toContain(
    "printf '%s\\n' ip_vs_rr ip_vs_wrr xt_set >> /etc/modules-load.d/",
  );
  expect(fixFor('x;reboot', '$(reboot)')).not.toContain('reboot');
});

it('KN105 knows kernels that lost MARK for IPv6', () => {
  expect(whyFor(['IPv6'])).toContain('IPv6');
  expect(whyFor(['IPv4', 'IPv6'])).not.toContain('Ubuntu');
});

it('KN401 has the figures and the top sources where they are known', () => {
  const facts = factsOf({
    conntrack: { count: 262_140, max: 262_144 },
    topSources: [{ name: 'shop/crawler-0 (10.244.0.7)', connections: 190_000 }],
  });
  const cause = causeOf('KN401');
  expect(cause.what(detailsOf({ facts }), 'node-a')).toContain('262140 of 262144');
  expect(cause.why(detailsOf({ facts }), 'node-a')).toContain('shop/crawler-0 (10.244.0.7): 190000');
  expect(cause.fix(detailsOf({ facts }), 'node-a')).toContain('nf_conntrack_max=524288');
  expect(cause.fix(detailsOf({ facts }), 'node-a')).toContain('conntrack.maxPerCore');
});

describe('KN401 says whose table it is', () => {
  const max = 262_144;
  it.each([
    [
      'the host’s own, by its count',
      { subjects: ['the host'], facts: factsOf({ conntrack: { count: max, max } }) },
      /^New connections fail at random on node-a: the connection tracking table of the host is full \(262144 of 262144 entries\)\.$/,
      /^At once: sysctl -w net\.netfilter\.nf_conntrack_max=524288/,
    ],
    [
      'a namespace’s, by the line',
      { subjects: ['network namespace 4026532317'], facts: factsOf({ namespacePod: null }) },
      /^New connections of a Pod fail at random on node-a: the connection tracking table of network namespace 4026532317 is full\.$/,
      /Whose it is: lsns -t net \| grep 4026532317;/,
    ],
    [
      'a namespace’s, since the host’s own has room',
      { subjects: ['the host'], facts: factsOf({ conntrack: { count: 120, max }, namespacePod: null }) },
      /^New connections of a Pod fail at random on node-a: the connection tracking table of a network namespace is full, not the node's own \(120 of 262144 entries\)\.$/,
      /^Whose it is: lsns -t net, then for the PID of each: nsenter -n -t PID conntrack -C shows/,
    ],
    [
      'nobody knows whose',
      { subjects: ['the host'], facts: factsOf({ conntrack: { count: undefined, max } }) },
      /^New connections fail at random on node-a: a connection tracking table is full, the node's own or that of a network namespace \(it holds 262144\)\.$/,
      /^If sysctl net\.netfilter\.nf_conntrack_count is near the limit: sysctl -w net\.netfilter\.nf_conntrack_max=524288/,
    ],
  ])('%s', (_, details, what, fix) => {
    expect(causeOf('KN401').what(detailsOf(details), 'node-a')).toMatch(what);
    expect(causeOf('KN401').fix(detailsOf(details), 'node-a')).toMatch(fix);
    expect(causeOf('KN401').impact?.(detailsOf(details))).toMatch(
      fix.source.startsWith('^If ') ? /^If the full table is the node's own, new connections / : /^New connections /,
    );
  });
});

it.each([
  [['IPv4'], 'net.ipv4.neigh.default.gc_thresh1=4096, and'],
  [['IPv6'], 'net.ipv6.neigh.default.gc_thresh1=4096, and'],
  [['IPv4', 'IPv6'], 'gc_thresh1=4096, likewise net.ipv6, and'],
  [[''], 'gc_thresh1=4096, likewise net.ipv6, and'],
])('KN402 raises the limits of %j, and never lowers one', (families, expected) => {
  const fix = causeOf('KN402').fix(detailsOf({ families }), 'node-a');
  expect(fix).toContain(expected);
  expect(fix).toContain('unless these are higher already');
});

it('KN103 gives an empty chain its mark: without it, what is to be dropped would pass', () => {
  const details = detailsOf({ code: 'KN103', diagnosis: 'KN103', subjects: ['KUBE-MARK-DROP'] });
  expect(causeOf('KN103').fix(details, 'node-a')).toContain(
    'iptables -t nat -A KUBE-MARK-DROP -j MARK --or-mark 0x8000',
  );
});

it('KN205 makes a zone take effect before the rules are written again', () => {
  const fix = causeOf('KN205').fix(detailsOf(), 'node-a');
  expect(fix).toMatch(/--permanent .*; firewall-cmd --reload\..*restart calico-node/);
});

it('KN110 names who uses what', () => {
  const facts = factsOf({ backends: { 'kube-proxy': 'nf_tables', felix: 'legacy' } });
  expect(causeOf('KN110').why(detailsOf({ facts }), 'node-a')).toContain(
    'kube-proxy uses nf_tables, felix uses legacy',
  );
  expect(causeOf('KN110').fix(detailsOf({ facts }), 'node-a')).toContain('"iptablesBackend":"NFT"');
});

it('KN301 says that all look Running', () => {
  expect(causeOf('KN301').what(detailsOf({ failing: 'bird' }), 'node-a')).toContain('though all look Running');
});

const mixedBackends: Partial<NodeFacts> = { backends: { 'kube-proxy': 'legacy', felix: 'nf_tables' } };

it.each<[string, Partial<NodeFacts>, string]>([
  [
    'KN102',
    { felix: { kind: 'unreadable', reason: 'forbidden' } },
    'Whether felix deletes the chains is not known: this agent lacks the right to get felixconfigurations.',
  ],
  [
    'KN102',
    { felix: { kind: 'unreadable', reason: 'failed' } },
    'Whether felix deletes the chains is not known: FelixConfiguration could not be read.',
  ],
  [
    'KN204',
    { felix: { kind: 'settings', settings: felixSettings({ logSeverityScreen: 'Error' }) } },
    'FelixConfiguration has logSeverityScreen Error: what felix warns of its rules is not in its log.',
  ],
  [
    'KN104',
    mixedBackends,
    'kube-proxy uses iptables legacy and felix nf_tables on this node: neither sees the rules of the other.',
  ],
])('gives a hint beside %s where %j', (code, facts, hint) => {
  expect(hints({ code, diagnosis: code, facts: { ...noFacts, ...facts } })).toEqual([hint]);
});
