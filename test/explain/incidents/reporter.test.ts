import { beforeEach, expect, test } from 'vitest';
import { createRecent } from '../../../src/explain/incidents/facts.ts';
import type { Incident, TrackedIncident } from '../../../src/explain/incidents/incident.ts';
import type { AffectedPod } from '../../../src/explain/incidents/reporting/details.ts';
import {
  Reporter,
  type ReporterOptions,
  type ReporterState,
} from '../../../src/explain/incidents/reporting/reporter.ts';
import type { ObjectRef } from '../../../src/base/model/endpoint.ts';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { IncidentDetails, NodeFacts } from '../../../src/base/model/incident.ts';
import { felixSettings, nine, nodeRef } from '../../builders.ts';
import { affectedPod, openIncident } from './node-incidents.ts';
import { kubeProxy } from './scripts.ts';

const none = () => Promise.resolve(undefined);
const second = 1000;
const minute = 60 * second;

const database: ObjectRef = {
  ...kubeProxy,
  kind: 'Service',
  namespace: 'shop',
  name: 'postgres',
  uid: 'uid-of-postgres',
};
const chain = 'KUBE-SVC-AAAAAAAAAAAAAAAA';

interface Counted {
  finding: Finding;
  time: number;
  weight: number;
}

let counted: Counted[];
let incidents: TrackedIncident[];
let pods: AffectedPod[];

beforeEach(() => {
  counted = [];
  incidents = [];
  pods = [];
});

function incident(given: Partial<Incident> = {}): TrackedIncident {
  const made = openIncident({ failingPod: kubeProxy, unpublished: 2, subjects: [chain], ...given });
  incidents.push(made);
  return made;
}

function reporter(given: Partial<ReporterOptions> = {}): Reporter {
  return new Reporter({
    node: 'node-a',
    nodeRef,
    tracker: {
      get incidents() {
        return incidents;
      },
      acknowledge: (one) => Object.assign(one, { unpublished: 0, endUnpublished: false }),
    },
    recent: createRecent(),
    facts: {},
    chains: {
      ownerOf: (name) => (name === chain ? { service: database, port: 'sql', deleted: false } : undefined),
      backendsOf: () => [],
    },
    podsHere: () => pods,
    isReady: () => true,
    count: (finding, time, weight) => counted.push({ finding, time, weight }),
    ...given,
  });
}

function objects(): string[] {
  return counted.map(({ finding: { regarding, reason } }) => `${reason} ${regarding.kind} ${regarding.name}`);
}

function detailsOf(index: number): IncidentDetails {
  return counted[index]?.finding.details as IncidentDetails;
}

/** The packets counted on each object. */
function totals(): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { finding, weight } of counted)
    sums[finding.regarding.name] = (sums[finding.regarding.name] ?? 0) + weight;
  return sums;
}

function over(one: TrackedIncident): TrackedIncident {
  return Object.assign(one, { phase: 'over', endedBy: 'success', ended: one.last + 5 * second, endUnpublished: true });
}

function runUntil(one: Reporter, until: number): void {
  for (let now = nine + 30 * second; now <= until; now += 5 * second) if (one.nextTick() <= now) one.tick(now);
}

test('details are on the failing Pod, the Node and the Service whose chain was named', () => {
  reporter().report(incident());
  expect(new Set(objects())).toEqual(
    new Set([
      'ServiceChainMissing Pod kube-proxy-x7k2p',
      'ServiceChainMissing Node node-a',
      'ServiceChainMissing Service postgres',
    ]),
  );
  expect(detailsOf(0)).toMatchObject({
    role: 'full',
    phase: 'open',
    failures: 2,
    failingPod: 'kube-system/kube-proxy-x7k2p',
    services: [{ object: database, ports: ['sql'] }],
  });
});

test('details begin with the first failure and count all failures', () => {
  reporter().report(incident({ failures: 5, unpublished: 5 }));
  expect(counted.filter(({ finding }) => finding.regarding === kubeProxy)).toMatchObject([
    { time: nine, weight: 1 },
    { time: nine + 30 * second, weight: 4 },
  ]);
});

test('details count each further failure in the same Event', () => {
  const one = incident();
  const ours = reporter();
  ours.report(one);
  Object.assign(one, { failures: 3, unpublished: 1, last: nine + minute });
  ours.report(one);
  expect(totals()).toEqual({ 'kube-proxy-x7k2p': 3, 'node-a': 3, postgres: 3 });
  expect(new Set(counted.map(({ finding }) => finding.identity)).size).toBe(3);
});

test('details on the Service are one Event for all nodes, other Events are per node', () => {
  reporter().report(incident());
  const places = counted.map(
    ({ finding: { regarding, shared, identity } }) =>
      `${regarding.kind}: ${shared === true ? 'shared' : 'own'}${identity.includes('node-a') ? ' of the node' : ''}`,
  );
  expect(new Set(places)).toEqual(new Set(['Pod: own of the node', 'Node: own of the node', 'Service: shared']));
});

test('details of a warning are not on Services', () => {
  reporter().report(incident({ code: 'KN204', failing: 'felix' }));
  expect(counted.map(({ finding }) => finding.regarding.kind)).not.toContain('Service');
});

test('details of the kernel are only on the Node', () => {
  reporter().report(incident({ code: 'KN401', failing: 'kernel', failingPod: undefined, subjects: [] }));
  expect(new Set(objects())).toEqual(new Set(['ConntrackTableFull Node node-a']));
});

test('details of the end are on the same objects, with the number of failures and the way it ended', () => {
  const one = incident();
  const ours = reporter();
  ours.report(one);
  counted = [];
  ours.report(over(one));
  expect(objects()).toEqual([
    'ServiceChainsRestored Pod kube-proxy-x7k2p',
    'ServiceChainsRestored Node node-a',
    'ServiceChainsRestored Service postgres',
  ]);
  expect(counted.map(({ finding: { type }, weight }) => [type, weight])).toEqual([
    ['Normal', 1],
    ['Normal', 1],
    ['Normal', 1],
  ]);
  expect(detailsOf(0)).toMatchObject({ phase: 'over', failures: 2, endedBy: 'success', ended: nine + 35 * second });
  expect(one.endUnpublished).toBe(false);
  expect(ours.nextTick()).toBe(Infinity);
});

test('an incident waits for late facts, and includes the failures until then', async () => {
  const found = Promise.withResolvers<NodeFacts['felix']>();
  const one = incident();
  const ours = reporter({ facts: { asked: { felix: () => found.promise } } });
  ours.report(one);
  Object.assign(one, { failures: 4, unpublished: 4 });
  ours.report(one);
  ours.report(over(one));
  expect(counted).toEqual([]);
  const settings = felixSettings({ bpfEnabled: true, bpfFrom: 'default' });
  found.resolve({ kind: 'settings', settings });
  await expect.poll(() => counted).not.toEqual([]);
  expect(totals()).toEqual({ 'kube-proxy-x7k2p': 5, 'node-a': 5, postgres: 5 });
  expect(detailsOf(0)).toMatchObject({ code: 'KN102', diagnosis: 'KN101' });
});

test('late facts are requested once, and again after five minutes', () => {
  let asked = 0;
  const one = incident();
  const ours = reporter({ facts: { felix: () => void asked++ } });
  for (let i = 0; i < 20; i++) {
    Object.assign(one, { unpublished: 1, failures: 2 + i, last: nine + i * 30 * second });
    ours.report(one);
  }
  expect(asked).toBe(2);
});

test('details count affected Pods', () => {
  pods = Array.from({ length: 30 }, (_, i) => affectedPod(`pod-${i}`));
  reporter().report(incident());
  expect(detailsOf(0).affected.count).toBe(30);
  expect(detailsOf(0).affected.names).toHaveLength(3);
});

test('only the Pod whose network namespace has the full table is affected', async () => {
  pods = [affectedPod('a'), affectedPod('b')];
  const proc = { conntrack: none, topSources: none, podOfNetns: () => Promise.resolve('uid-of-b'), now: () => nine };
  const one = reporter({ facts: { asked: { proc } } });
  one.report(incident({ code: 'KN401', failing: 'kernel', failingPod: undefined, subjects: ['netns 4026532317'] }));
  await expect.poll(() => counted).not.toEqual([]);
  counted = [];
  runUntil(one, nine + 10 * minute);
  expect(objects()).toEqual(['NodeNetworkDegraded Pod b']);
});

test('no Pod is notified of a warning', () => {
  pods = [affectedPod('a')];
  const one = reporter();
  one.report(incident({ code: 'KN204', failing: 'felix' }));
  expect(one.nextTick()).toBe(Infinity);
});

test('after a restart, no Pod is notified twice, and the next one is notified', () => {
  pods = [affectedPod('a'), affectedPod('b')];
  const subject = incident();
  const before = reporter();
  before.report(subject);
  before.tick(nine + 45 * second);
  counted = [];
  const restored = JSON.parse(JSON.stringify(before.state())) as ReporterState;
  const after = reporter({ restored });
  after.tick(nine + 46 * second);
  expect(counted).toEqual([]);
  after.tick(nine + 60 * second);
  expect(objects()).toEqual(['NodeNetworkDegraded Pod b']);
});

test('a failure from before the objects are known is published as soon as they are', () => {
  let ready = false;
  const one = incident();
  const ours = reporter({ isReady: () => ready });
  ours.report(one);
  ours.report(over(one));
  ours.tick(nine + minute);
  expect([counted, ours.nextTick()]).toEqual([[], Infinity]);
  ready = true;
  expect(ours.nextTick()).toBe(0);
  ours.tick(nine + minute);
  expect(totals()).toEqual({ 'kube-proxy-x7k2p': 3, 'node-a': 3, postgres: 3 });
  expect([one.unpublished, one.endUnpublished]).toEqual([0, false]);
});

test('a different explanation is another Event', () => {
  const settings = felixSettings({ bpfEnabled: true, bpfFrom: 'default' });
  let felix: NodeFacts['felix'] = { kind: 'settings', settings };
  const one = incident();
  const ours = reporter({ facts: { felix: () => felix } });
  ours.report(one);
  felix = { kind: 'absent' };
  Object.assign(one, { failures: 3, unpublished: 1, last: nine + 10 * minute });
  ours.report(one);
  const ofNode = counted.filter(({ finding }) => finding.regarding.kind === 'Node').map(({ finding }) => finding);
  expect(new Set(ofNode.map(({ reason }) => reason))).toEqual(
    new Set(['CalicoDeletesServiceChains', 'ServiceChainMissing']),
  );
  expect(new Set(ofNode.map(({ identity }) => identity)).size).toBe(2);
});

test('old facts of an earlier run are requested again once the objects are known', () => {
  const settings = felixSettings({ bpfEnabled: true, bpfFrom: 'default' });
  let felix: NodeFacts['felix'] = { kind: 'settings', settings };
  const one = incident();
  const before = reporter({ facts: { felix: () => felix } });
  before.report(one);
  counted = [];
  const restored = JSON.parse(JSON.stringify(before.state())) as ReporterState;
  felix = { kind: 'absent' };
  let ready = false;
  const after = reporter({ restored, facts: { felix: () => felix }, isReady: () => ready });
  Object.assign(one, { failures: 3, unpublished: 1, last: nine + 10 * minute });
  after.report(one);
  expect(counted).toEqual([]);
  ready = true;
  after.tick(nine + 11 * minute);
  expect(detailsOf(0)).toMatchObject({ code: 'KN102', diagnosis: 'KN102' });
});

test('failures that an earlier run has not published are published at the first tick', () => {
  const one = incident({ failures: 5, unpublished: 5 });
  const ours = reporter();
  expect(ours.nextTick()).toBe(0);
  ours.tick(nine + minute);
  expect([totals()['node-a'], one.unpublished]).toEqual([5, 0]);
  expect(ours.nextTick()).toBe(Infinity);
});

test('a forgotten incident leaves nothing behind', () => {
  const one = reporter();
  one.report(incident());
  incidents = [];
  one.tick(nine + minute);
  expect(one.state()).toEqual({});
});
