/**
 * `npm run bench -- policies`: the cost of a verdict in an Event, in processor time and memory, with more and more policies that select
 * the Pod.
 */
import { unlimitedMemory } from '../../src/base/platform/memory-budget.ts';
import { createPolicyObjects } from '../../src/agent/policies/objects.ts';
import { type KnownPolicies, policyNeeds } from '../../src/explain/drops/policy-trace.ts';
import { policyVerdict } from '../../src/explain/drops/policy-verdict.ts';
import { alignColumns } from '../../src/cli/describe.ts';
import { collectCalicoObjects, compilePolicy, type Policy } from '../../src/explain/policies/policies.ts';
import { finding, flow as flowDetails, podRef } from '../builders.ts';
import { namespace, networkPolicy, pod } from '../explain/policies/objects.ts';

const rows = [['what', 'figure']];

/** Only the last policy allows the connection, so all are tried. */
function policies(count: number): object[] {
  return Array.from({ length: count }, (_, index) =>
    networkPolicy(
      {
        podSelector: { matchLabels: { app: 'postgres' } },
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [
              { podSelector: { matchLabels: { app: `client-${index}` } } },
              { ipBlock: { cidr: `10.${index % 250}.0.0/16`, except: [`10.${index % 250}.1.0/24`] } },
            ],
            ports: [{ protocol: 'TCP', port: index === count - 1 ? 5432 : 5433 }],
          },
          { from: [{ namespaceSelector: { matchLabels: { team: `team-${index}` } } }], ports: [{ port: 5432 }] },
        ],
      },
      `policy-${String(index).padStart(6, '0')}`,
      'shop',
    ),
  );
}

const postgres = pod();
for (const count of [100, 1000, 5000]) rows.push(...(await ofAnEvent(count)));
console.log(alignColumns(rows).join('\n'));

/** Measures the Events of a Pod whose Namespace has that many policies. */
async function ofAnEvent(count: number): Promise<string[][]> {
  const text = JSON.stringify(policies(count));
  let reading = 0;
  const read = createPolicyObjects({
    reader: {
      cluster: () =>
        Promise.resolve({ policies: [], compiled: new Map(), calico: collectCalicoObjects().read(), bytes: 0 }),
      namespace(name) {
        const begun = process.cpuUsage();
        const list = compiled(JSON.parse(text) as object[]);
        const spent = process.cpuUsage(begun);
        reading = (spent.user + spent.system) / 1000;
        return Promise.resolve({ namespace: namespace(name), policies: list, compiled: new Map(), bytes: 0 });
      },
      pod: () => Promise.resolve({ pod: postgres, uid: '' }),
      networkSets: () => Promise.resolve({ sets: [], unread: false, bytes: 0 }),
      endpoints: () => Promise.resolve(new Map()),
      accountLabels: () => Promise.resolve({}),
    },
    onFailed: (error) => {
      throw error;
    },
    now: () => 1,
    memory: unlimitedMemory(),
  });
  const details = flowDetails({ enforcer: 'network-policy', ownAddress: '10.65.1.4' });
  const drop = finding({ regarding: { ...podRef('postgres-0'), uid: '' }, details });
  const needs = policyNeeds(drop);
  if (needs === undefined) throw new Error('policies have no part in it');
  const empty = heap();
  await read.refresh(needs, { policies: 0, pods: 0 }, 'shop');
  const size = (heap() - empty) / 2 ** 20;
  for (const each of read.known(drop, needs, (_, work) => work())?.required ?? [])
    await read.refreshRequired(each, 0, 'shop');
  const answer = () => policyVerdict(drop, read.known(drop, needs, (_, work) => work())?.policies as KnownPolicies, 1);
  if (answer()?.outcome !== 'denies') throw new Error('the packet is not denied');
  return [
    [`${count} policies of a Namespace: read for an Event`, `${reading.toFixed(0)} ms, ${size.toFixed(1)} MiB`],
    [`${count} policies of a Namespace: a verdict in an Event`, micros(answer, 20_000 / count)],
  ];
}

function compiled(given: readonly object[]): Policy[] {
  return given.flatMap(compilePolicy);
}

/** Processor time of one call, the best of five rounds. */
function micros(call: () => unknown, rounds: number): string {
  const times = Array.from({ length: 5 }, () => {
    const start = process.cpuUsage();
    for (let round = 0; round < rounds; round++) call();
    const { user: used, system: inKernel } = process.cpuUsage(start);
    return (used + inKernel) / rounds;
  });
  return `${Math.min(...times).toFixed(2)} µs`;
}

function heap(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
