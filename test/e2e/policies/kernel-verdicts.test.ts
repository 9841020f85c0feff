import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterPolicies, labelSets, namedPorts, namespaceLists, networkPolicies } from '../../policies/arbitraries.ts';
import { evaluator, pod } from '../../policies/objects.ts';
import {
  connectionOf,
  type End,
  type Evaluator,
  type Flow,
  type Pod,
  sentenceOf,
} from '../../../src/policies/policies.ts';
import { orient } from '../../../src/model/flow-identity.ts';
import { createDecisions } from '../../../src/pipeline/decision.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { createDirectory } from '../../../src/resolving/directory.ts';
import { cluster as noObjects, line as logLine } from '../../builders.ts';
import { openKernelLog } from '../network/kernel-log.ts';
import { addressOf, type Attempt, createKernelJudge, type KernelJudge, type Machine } from './kernel-judge.ts';
import { compileToNft } from './nft-compiler.ts';

/** The kernel is the judge: random policies as rules of nftables, and a packet for each connection. */

const machines: readonly Machine[] = [
  { namespace: 'x', name: 'one', addresses: ['10.0.0.1', 'fd00::1'] },
  { namespace: 'x', name: 'two', addresses: ['10.0.0.2', 'fd00::2'] },
  { namespace: 'y', name: 'one', addresses: ['10.0.0.9', 'fd00::9'] },
];
/** No Pod: no policy selects it, and no label selector sees it. */
const outside: Machine = { namespace: 'outside', name: 'host', addresses: ['192.0.2.7', '2001:db8::7'] };
const everywhere = [...machines, outside];

const families = [4, 6] as const;
const attempts: readonly Attempt[] = everywhere.flatMap((from) =>
  everywhere
    .filter((to) => to !== from)
    .flatMap((to) =>
      families.flatMap((family) =>
        (['TCP', 'UDP', 'SCTP'] as const).flatMap((protocol) =>
          [80, 81, 443].map((port): Attempt => ({ from, to, family, protocol, port })),
        ),
      ),
    ),
);
const [one, two, other] = machines as [Machine, Machine, Machine];
const echoes: readonly Attempt[] = families.flatMap((family) => [
  { from: one, to: two, family, protocol: 'ICMP', port: undefined },
  { from: other, to: one, family, protocol: 'ICMP', port: undefined },
]);

const scenes = fc.record({
  policies: fc.array(fc.oneof(networkPolicies, networkPolicies, clusterPolicies), { minLength: 1, maxLength: 6 }),
  namespaces: namespaceLists,
  details: fc.tuple(...machines.map(() => fc.record({ labels: labelSets, ports: namedPorts }))),
});
type Scene = typeof scenes extends fc.Arbitrary<infer T> ? T : never;

let judge: KernelJudge;
beforeAll(async () => {
  judge = await createKernelJudge(everywhere);
});
afterAll(() => judge.destroy());

function podsOf({ details }: Scene): Pod[] {
  return machines.map(({ namespace, name, addresses }, index) =>
    pod({ namespace, name, addresses, node: 'node-a', ...details[index] }),
  );
}

function endOf(address: string, pods: readonly Pod[]): End {
  const found = pods.find((each) => each.addresses.includes(address));
  return found === undefined ? { kind: 'external', address } : { kind: 'pod', pod: found, address };
}

/** Undefined where the API leaves it open. */
function isAdmitted({ verdict }: Pick<Evaluator, 'verdict'>, flow: Flow): boolean | undefined {
  const outcomes = new Set([verdict(flow, 'ingress').outcome, verdict(flow, 'egress').outcome]);
  if (outcomes.has('denies')) return false;
  return outcomes.has('unknown') ? undefined : true;
}

const numRuns = 200;

test(`${numRuns * (attempts.length + echoes.length)} packets of random policies fare as the evaluator says`, async () => {
  const seen: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(scenes, async (scene) => {
      const pods = podsOf(scene);
      const { verdict } = evaluator(scene.policies, scene.namespaces);
      const tried = [...attempts, ...echoes];
      const fared = await judge.judge(compileToNft(scene, pods, undefined), tried);
      for (const [index, attempt] of tried.entries()) {
        const { protocol, port, family } = attempt;
        const [from, to] = [addressOf(attempt.from, family), addressOf(attempt.to, family)];
        const flow = { source: endOf(from, pods), destination: endOf(to, pods), protocol, port };
        const admitted = isAdmitted({ verdict }, flow);
        const outcome = admitted === undefined ? 'open' : admitted ? 'admitted' : 'denied';
        const kind = `${protocol} over IPv${family} ${outcome}`;
        seen[kind] = (seen[kind] ?? 0) + 1;
        const name = `${from} to ${to} ${protocol} ${port}`;
        if (admitted !== undefined) expect({ [name]: fared[index] }).toEqual({ [name]: admitted });
      }
    }),
    { numRuns },
  );
  const decided = Object.entries(seen).filter(([kind]) => !kind.endsWith('open'));
  // Four protocols over two families, each admitted and denied.
  expect(decided).toHaveLength(16);
  expect(Math.min(...decided.map(([, count]) => count))).toBeGreaterThan(50);
});

test('a line that the kernel prints for a packet that it drops leads to the policy that denies it', async () => {
  const prefix = `e2e-${randomBytes(4).toString('hex')}: `;
  const log = openKernelLog();
  const prefixes = createPrefixTable([{ prefix: prefix.slice(0, -2), verdict: 'dropped' }]);
  let lines = 0;
  const ofSctp = { denied: 0, open: 0 };
  try {
    const { decide } = createDecisions({
      prefixes,
      directory: createDirectory(noObjects()),
      node: 'node-a',
      includeNoise: false,
      programsAnywhere: true,
    });
    for (const scene of fc.sample(scenes, 24)) {
      const pods = podsOf(scene);
      const { verdict, trace } = evaluator(scene.policies, scene.namespaces);
      const tried = [...attempts.filter((_, index) => index % 4 === lines % 4), ...echoes];
      const fared = await judge.judge(compileToNft(scene, pods, prefix), tried);
      const dropped = fared.filter((admitted) => !admitted).length;
      const printed = dropped === 0 ? [] : await log.untilTaken(prefix, dropped);
      for (const text of printed) {
        const decision = decide(logLine({ text }), 'kernel');
        if (decision?.kind !== 'drop' || decision.observation.kind !== 'packet') throw new Error(`no drop: ${text}`);
        const { packet } = decision.observation;
        const ends = { source: endOf(packet.source, pods), destination: endOf(packet.destination, pods) };
        const flow = connectionOf(packet, ends, orient(packet));
        const admitted = isAdmitted({ verdict }, flow);
        // The kernel's LOG shows no ports of SCTP, so a rule with ports leaves it open.
        if (packet.protocol === 'SCTP') {
          expect({ text, admitted }).not.toEqual({ text, admitted: true });
          ofSctp[admitted === undefined ? 'open' : 'denied'] += 1;
        }
        if (admitted === undefined) continue;
        const denying = (['egress', 'ingress'] as const).find((each) => verdict(flow, each).outcome === 'denies');
        expect({ text, denying }).toEqual({ text, denying: expect.stringMatching('gress') });
        expect(sentenceOf(trace(flow, denying ?? 'ingress'), { max: 1024 })).toMatch(/^Denied/);
        lines += 1;
      }
    }
  } finally {
    log.close();
  }
  expect(lines).toBeGreaterThan(50);
  expect(Math.min(ofSctp.denied, ofSctp.open)).toBeGreaterThan(0);
});
