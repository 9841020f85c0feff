import { expect, test } from 'vitest';
import type { LogLine } from '../../../src/base/model/log-line.ts';
import type { Finding, FlowDetails } from '../../../src/base/model/finding.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createDecisions, type Decision } from '../../../src/count/pipeline/pipeline.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { cluster, line, nine, node, pod } from '../../builders.ts';

/** Tests what becomes of the kernel's own record of a drop, with and without a LOG line of the same packet. */

/** As the probe printed it in a guest with Linux 6.1: SYN 10.1.0.2:38158 > 10.2.0.2:5432. */
function kernelDropLine({ reason = 'NETFILTER_DROP', netns = 4_026_531_840, dev = '"va"' }): string {
  return (
    `(skb.kfree_skb) reason=${reason} protocol=2048 node=4026531840 device=0xff4031a972983000 netns=${netns} sock=0x0 socknetns=0 ` +
    'iif=2 ifindex=2 len=60 paged=0 head=0xff4031a9729d9800 data=0xff4031a9729d9904 nh=260 dst=0xff4031a972a1b3c1 mtu=1500 bytes={0x4046103c000045,0x200010a7017063f,' +
    `0x38150e950200020a,0x434b8e9c,0x3514f0fa02a0,0xa080204b4050402,0x5016275d,0x7030301} dev=${dev}`
  );
}

const [device = ''] = interfaceNames('shop', 'web-0');
const endpoints = createEndpointFinder(
  cluster({
    pods: [
      pod({ addresses: ['10.1.0.2'] }),
      pod({ name: 'db-0', addresses: ['10.2.0.2'] }),
      pod({ name: 'other-0', addresses: ['10.1.0.3'] }),
    ],
    nodes: [node()],
  }),
);
const drop = (reason = 'NETFILTER_DROP', from = device): LogLine =>
  line({ text: kernelDropLine({ reason, dev: `"${from}"` }), time: nine, program: 'kernel-drops' });
const logged = (prefix = 'calico-drop: ', port = 38_158): LogLine =>
  line({
    text: `${prefix}IN=${device} OUT=vb SRC=10.1.0.2 DST=10.2.0.2 LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=${port} DPT=5432 WINDOW=64240 RES=0x00 SYN URGP=0 `,
    time: nine - 0.1,
  });
const martian = (): LogLine =>
  line({ text: `IPv4: martian source 10.2.0.2 from 10.1.0.2, on dev ${device}`, time: nine - 0.1 });

function decided(lines: readonly LogLine[], hasKernelDrops = true): (Decision | undefined)[] {
  const decisions = createDecisions({
    prefixes: createPrefixTable(),
    endpoints,
    node: 'node-a',
    includeNoise: false,
    hasKernelDrops,
  });
  return lines.map((each) => decisions.decide(each, 'kernel'));
}

function findingsOf(decision: Decision | undefined): readonly Finding[] {
  return decision?.kind === 'drop' ? decision.meaning.findings : [];
}

const detailsOf = (finding: Finding | undefined): Partial<FlowDetails> => (finding?.details ?? {}) as FlowDetails;

test('a drop that no rule logged has Events on both Pods, and neither end counts as having refused it', () => {
  const [decision] = decided([drop()]);
  const findings = findingsOf(decision);
  expect(findings.map(({ regarding: { name }, reason }) => `${reason} ${name}`)).toEqual([
    'PacketDrop db-0',
    'PacketDrop web-0',
  ]);
  for (const { details } of findings)
    expect(details).toMatchObject({ enforcer: 'network-policy', refusedBy: undefined, path: device, prefix: '' });
});

test('the device tells which Pod sent it, whatever its address', () => {
  const [other = ''] = interfaceNames('shop', 'other-0');
  const [decision] = decided([drop('NETFILTER_DROP', other)]);
  const sender = findingsOf(decision).find(({ details }) => detailsOf({ details } as Finding).direction === 'sending');
  expect(sender?.regarding.name).toBe('other-0');
  expect(detailsOf(sender)).toMatchObject({ ownAddress: '10.1.0.2', ownAddressIsForeign: true });
});

test.each([
  ['the LOG line first', [logged(), drop()]],
  ['the kernel first', [drop(), logged()]],
] as const)('a packet that a rule logs and the kernel reports counts once: %s', (_, lines) => {
  expect(decided(lines).map((decision) => decision?.kind)).toEqual(['drop', 'twin']);
});

test('if the source is not named, lines count once from the first drop on', () => {
  expect(decided([logged(), drop(), logged()], false).map((decision) => decision?.kind)).toEqual([
    'drop',
    'drop',
    'twin',
  ]);
});

test('packets that a limit keeps out of the log count, and have its prefix', () => {
  const decisions = decided([logged('[UFW BLOCK] '), drop(), drop(), drop()]);
  expect(decisions.map((decision) => decision?.kind)).toEqual(['drop', 'twin', 'drop', 'drop']);
  const [first, , third] = decisions.map((decision) => findingsOf(decision)[0]);
  expect(third?.identity).toBe(first?.identity);
  expect(detailsOf(third)).toMatchObject({ enforcer: 'host-firewall', prefix: '[UFW BLOCK]' });
});

test('a LOG line does not apply to packets from another device', () => {
  const [, other] = decided([logged('[UFW BLOCK] ', 1), drop('NETFILTER_DROP', 'vz')]);
  expect(detailsOf(findingsOf(other)[0])).toMatchObject({ enforcer: 'network-policy', prefix: '' });
});

test('a LOG line does not apply to packets more than ten minutes later', () => {
  const late = { ...drop(), time: nine + 600_001 };
  const [, last] = decided([logged('[UFW BLOCK] '), late]);
  expect(detailsOf(findingsOf(last)[0])).toMatchObject({ enforcer: 'network-policy', prefix: '' });
});

test.each(['IP_RPFILTER', 'IP_LOCAL_SOURCE', 'IP_INVALID_SOURCE'])(
  'a martian of the log and the drop for %s count once',
  (reason) => {
    const decisions = decided([martian(), drop(reason), drop(reason)]);
    expect(decisions.map((decision) => decision?.kind)).toEqual(['drop', 'twin', 'drop']);
  },
);

test('a reason other than a rule is in the finding and its identity', () => {
  const [rule, neighbour] = decided([drop(), drop('NEIGH_FAILED')]).map((decision) => findingsOf(decision)[0]);
  expect(detailsOf(neighbour)).toMatchObject({ dropReason: 'NEIGH_FAILED', enforcer: 'unknown' });
  expect(neighbour?.identity).not.toBe(rule?.identity);
});

test('packets of other network namespaces count as refused, and have no Event', () => {
  const forged = line({ text: kernelDropLine({ netns: 4_026_532_120 }), program: 'kernel-drops' });
  expect(decided([forged])).toMatchObject([{ kind: 'unparsable', observation: { format: 'kernel-drop' } }]);
});
