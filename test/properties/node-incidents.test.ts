import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Incident } from '../../src/explain/incidents/incident.ts';
import type { ObjectRef } from '../../src/base/model/endpoint.ts';
import type { Finding } from '../../src/base/model/finding.ts';
import type { IncidentDetails } from '../../src/base/model/incident.ts';
import type { Millis } from '../../src/base/model/log-line.ts';
import type { Failing } from '../../src/base/model/program-record.ts';
import type { NodeIncidents, NodeIncidentsOptions, NodeIncidentsState } from '../../src/explain/incidents/incidents.ts';
import { parseProgramRecord } from '../../src/read/parsing/components/program-record.ts';
import { line, nodeRef } from '../builders.ts';
import { affectedPod, nodeIncidents } from '../explain/incidents/node-incidents.ts';
import { forAllAsync } from '../for-all.ts';

const second = 1000;
const minute = 60 * second;
const start: Millis = 1_800_000_000_000;

const klog = (text: string): string => `E1121 09:00:00.910840       1 proxier.go:1564] ${text}`;
const restore = (error: string, family = 'IPv4'): string =>
  klog(`"Failed to execute iptables-restore" err=<\n\texit status 2: ${error}\n > ipFamily="${family}"`);
const felix = (text: string): string => `2026-11-21 09:00:00.942 [WARNING][56] felix/table.go 654: ${text}`;
const chains = ['KUBE-SVC-L6LPUQKLZFD5NUFY', 'KUBE-SVC-JD5MR3NA4I4DYORP', 'KUBE-SVC-AAAAAAAAAAAAAAAA'];

/** Lines as programs of a node log them. */
const texts: readonly string[] = [
  ...chains.map((chain) => restore(`iptables-restore v1.8.9 (legacy): Couldn't load target \`${chain}':No such file`)),
  restore("ip6tables-restore v1.8.9 (legacy): Couldn't load target `KUBE-MARK-DROP':No such file", 'IPv6'),
  restore('Another app is currently holding the xtables lock.'),
  restore('iptables-restore: line 7 failed'),
  'I1121 09:00:00.910860       1 proxier.go:833] "Sync failed" ipFamily="IPv4" retryingTime="30s"',
  'I1121 09:00:00.910870       1 proxier.go:828] "SyncProxyRules complete" ipFamily="IPv4" elapsed="9ms"',
  'I1121 09:00:00.910870       1 proxier.go:828] "SyncProxyRules complete" ipFamily="IPv6" elapsed="9ms"',
  klog('"Error running ProxyServer" err="something that nobody has seen before"'),
  felix(
    'Failed to execute ip(6)tables-restore command error=exit status 4 errorOutput="Another app is currently holding the xtables lock." ipVersion=0x4 table="nat"',
  ),
  felix('Failed to program iptables, will retry error=exit status 4 ipVersion=0x4 table="nat"'),
  felix('Detected out-of-sync inserts, marking for resync chainName="FORWARD" ipVersion=0x4 table="filter"'),
  'bird: BGP: Unexpected connect from unknown address 10.252.21.153 (port 27467)',
];
const records = texts.map((text) => {
  const record = parseProgramRecord(text);
  if (record === undefined) throw new Error(`no record: ${text}`);
  return record;
});

type Happening =
  | { what: 'log'; index: number; run: number; pod: number }
  | { what: 'conntrack'; netns: number | undefined }
  | { what: 'drop' | 'neighbour' | 'tick' }
  | { what: 'answer'; last: boolean }
  | { what: 'server'; away: boolean };
interface Step {
  wait: Millis;
  happening: Happening;
}

const wait = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 3000 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 2 * minute }) },
  fc.integer({ min: 0, max: 20 * minute }),
);
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('log' as const),
      index: fc.nat(records.length - 1),
      run: fc.nat(6),
      pod: fc.nat(1),
    }),
  },
  fc.record({ what: fc.constant('conntrack' as const), netns: fc.constantFrom(undefined, 4_026_532_317) }),
  fc.record({ what: fc.constantFrom('drop' as const, 'neighbour' as const, 'tick' as const) }),
  { weight: 2, arbitrary: fc.record({ what: fc.constant('answer' as const), last: fc.boolean() }) },
  fc.record({ what: fc.constant('server' as const), away: fc.boolean() }),
);
/** A node has few problems at a time, which come again and again. */
const steps: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.uniqueArray(fc.nat(records.length - 1), { minLength: 1, maxLength: 4 }),
    fc.array(fc.record({ wait, happening }), { maxLength: 60, size: 'max' }),
  )
  .map(([few, all]) =>
    all.map((step) => {
      const { happening: one } = step;
      return one.what === 'log' ? { ...step, happening: { ...one, index: few[one.index % few.length] ?? 0 } } : step;
    }),
  );

interface Counted {
  finding: Finding;
  time: Millis;
  weight: number;
}

interface Scene {
  counted: Counted[];
  /** Failures of each incident that was forgotten, or that existed at the end, by `KN102 kube-proxy`. */
  failures: Record<string, number>;
  incidents: NodeIncidents;
}

interface Interruptions {
  /** After each of these steps the process ends, and another one continues from the saved state. */
  restarts?: ReadonlySet<number>;
  /** Facts arrive only with an `answer` step. */
  late?: boolean;
}

const service = (chain: string): ObjectRef => ({
  apiVersion: 'v1',
  kind: 'Service',
  namespace: 'shop',
  name: chain.slice(9, 13).toLowerCase(),
  uid: `uid-of-${chain}`,
  resourceVersion: '1',
});

/** Services that come and go, and a Node that is replaced, by the test's clock. */
function surroundings(now: () => Millis): Partial<NodeIncidentsOptions> {
  const age = (): number => Math.floor((now() - start) / (7 * minute));
  const pods = Array.from({ length: 30 }, (_, i) => affectedPod(`pod-${i}`, i < 3 ? { problem: 'restarting' } : {}));
  return {
    nodeRef: () => ({ ...nodeRef(), uid: `uid-of-node-${Math.floor(age() / 3)}` }),
    podsHere: () => pods,
    chains: {
      ownerOf(chain) {
        const known = chains.indexOf(chain);
        return known < 0 || (known + age()) % 3 === 2
          ? undefined
          : { service: service(chain), port: '80', deleted: false };
      },
      backendsOf: () => [],
    },
  };
}

async function play(all: readonly Step[], { restarts = new Set(), late = false }: Interruptions): Promise<Scene> {
  let now = start;
  const counted: Counted[] = [];
  const failures: Record<string, number> = {};
  const alive = new Map<string, Incident>();
  let waiting: (() => void)[] = [];
  /** Makes objects unknown. */
  let away = false;
  let incidents = begin(undefined);
  for (const [i, step] of all.entries()) {
    idle(now + step.wait);
    act(step.happening);
    await Promise.resolve();
    note();
    if (restarts.has(i)) {
      waiting = [];
      incidents = begin(throughDisk(incidents));
      note();
    }
  }
  away = false;
  for (let rest = 0; rest < 400; rest++) {
    for (const answer of waiting.splice(0)) answer();
    await Promise.resolve();
    await Promise.resolve();
    idle(now + 20 * second);
  }
  note();
  for (const incident of alive.values()) addTo(failures, keyOf(incident), incident.failures);
  return { counted, failures, incidents };

  function begin(restored: NodeIncidentsState | undefined): NodeIncidents {
    const one: NodeIncidents = nodeIncidents(
      (finding, time, weight) => {
        // What a process reports after its end no longer counts.
        if (one === incidents) counted.push({ finding, time, weight });
      },
      {
        ...surroundings(() => now),
        isReady: () => !away,
        restored,
        facts: {
          get asked() {
            return late
              ? { felix: () => new Promise<undefined>((resolve) => waiting.push(() => resolve(undefined))) }
              : undefined;
          },
        },
      },
    );
    return one;
  }

  /** Does the housekeeping every five seconds as the agent does, if there is something to do. */
  function idle(until: Millis): void {
    for (let at = upkeepAt(now); at <= until; at = upkeepAt(now + 1)) {
      now = Math.max(at, upkeepAt(Math.min(incidents.nextTick(), until)));
      if (now > until) break;
      if (incidents.nextTick() <= now) incidents.tick(now);
      note();
    }
    now = until;
  }

  function act(one: Happening): void {
    switch (one.what) {
      case 'log': {
        const record = records[one.index];
        const name = record?.program === 'kube-proxy' ? 'kube-proxy' : 'calico-node';
        const source = `/var/log/pods/kube-system_${name}-${one.pod}_uid-of-${name}-${one.pod}/${name}/${one.run}.log`;
        if (record !== undefined) incidents.take(record, line({ source, time: now }));
        return;
      }
      case 'conntrack':
        return incidents.take({ kind: 'conntrack-full', netns: one.netns }, line({ time: now }));
      case 'neighbour':
        return incidents.take({ kind: 'neighbour-overflow', family: 'IPv4' }, line({ time: now }));
      case 'drop':
        return incidents.firewallDropped(now);
      case 'tick':
        return incidents.tick(now);
      case 'answer':
        return (one.last ? waiting.pop() : waiting.shift())?.();
      case 'server':
        away = one.away;
        return;
      default:
        one satisfies never;
    }
  }

  /** Adds up the failures of incidents that are gone; incidents that were never open count as flaps. */
  function note(): void {
    const here = new Map(incidents.tracker.incidents.map((incident) => [keyOf(incident), incident]));
    for (const [key, { failures: before }] of alive) {
      const incident = here.get(key);
      if (incident !== undefined && incident.phase !== 'suspected' && incident.failures >= before) continue;
      addTo(failures, key, before);
      alive.delete(key);
    }
    for (const [key, incident] of here) if (incident.phase !== 'suspected') alive.set(key, structuredClone(incident));
  }
}

function keyOf({ code, failing }: { code: string; failing: Failing }): string {
  return `${code} ${failing}`;
}

const throughDisk = (incidents: NodeIncidents) => JSON.parse(JSON.stringify(incidents.state())) as NodeIncidentsState;

function upkeepAt(time: Millis): Millis {
  return Math.ceil(time / (5 * second)) * 5 * second;
}

function addTo(sums: Record<string, number>, key: string, weight: number): void {
  sums[key] = (sums[key] ?? 0) + weight;
}

/** Incidents that become known at the same moment come in any order. */
function sorted(counted: readonly Counted[]): string[] {
  return counted.map((one) => JSON.stringify(one)).toSorted();
}

function detailsOf({ finding }: Counted): IncidentDetails {
  return finding.details as IncidentDetails;
}

/** Failures counted on the Node, whichever it was at the time, by `KN102 kube-proxy`. */
function countedFailures(counted: readonly Counted[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const one of counted) {
    const { role, phase } = detailsOf(one);
    if (role === 'full' && phase === 'open' && one.finding.regarding.kind === 'Node')
      addTo(sums, keyOf(detailsOf(one)), one.weight);
  }
  return sums;
}

/** Asserts that each object with a beginning gets its end once, and no other does. */
function expectPairs(counted: readonly Counted[]): void {
  const open = new Set<string>();
  for (const one of counted) {
    const { role, phase, code, failing } = detailsOf(one);
    const { kind, uid } = one.finding.regarding;
    const key = [role, code, failing, kind, uid].join(' ');
    if (phase === 'open') open.add(key);
    else expect(open.delete(key), `the end of ${key}`).toBe(true);
  }
  expect([...open]).toEqual([]);
}

const cuts = fc.array(fc.nat(50), { maxLength: 8 }).map((all) => new Set(all));

test('restarts of the agent do not change the counts', async () => {
  await forAllAsync([steps, cuts], { numRuns: 30 }, async (some, restarts) => {
    // What is published at once and what is published when the server is back are split differently; see below.
    const all = some.filter((step) => step.happening.what !== 'server');
    const whole = await play(all, {});
    const parted = await play(all, { restarts });
    expect(sorted(parted.counted)).toEqual(sorted(whole.counted));
    expect(throughDisk(parted.incidents)).toEqual(throughDisk(whole.incidents));
  });
});

test('every failure of an incident is counted once, and each object with a beginning gets its end', async () => {
  await forAllAsync([steps], { numRuns: 30 }, async (all) => {
    const { counted, failures } = await play(all, {});
    expect(countedFailures(counted)).toEqual(failures);
    expectPairs(counted);
  });
});

test('the same holds if facts come late, in another order, or only after the process has ended', async () => {
  await forAllAsync([steps, cuts], { numRuns: 30 }, async (all, restarts) => {
    const { counted, failures } = await play(all, { restarts, late: true });
    expect(countedFailures(counted)).toEqual(failures);
    expectPairs(counted);
  });
});

test('nothing is left at the end, and the kept state is small', async () => {
  await forAllAsync([steps], { numRuns: 20 }, async (all) => {
    const { incidents } = await play(all, { late: true });
    const { table, reported } = incidents.state();
    expect([table.incidents, reported]).toEqual([[], {}]);
    expect(JSON.stringify(incidents.state()).length).toBeLessThan(20_000);
  });
});
