import { beforeEach, describe, expect, test } from 'vitest';
import type { Incident, IncidentChange } from '../../src/incidents/incident.ts';
import type { AffectedPod } from '../../src/incidents/reporting/pod-notices.ts';
import {
  createReporter,
  type Reporter,
  type ReporterOptions,
  type ReporterState,
} from '../../src/incidents/reporting/reporter.ts';
import type { ObjectRef } from '../../src/model/endpoint.ts';
import type { Finding } from '../../src/model/finding.ts';
import type { IncidentDetails, NodeFacts } from '../../src/model/incident.ts';
import { felixSettings, nine, nodeRef, noFacts } from '../builders.ts';
import { affectedPod } from './sufferer.ts';

const second = 1000;
const minute = 60 * second;

const proxy: ObjectRef = {
  apiVersion: 'v1',
  kind: 'Pod',
  namespace: 'kube-system',
  name: 'kube-proxy-x7k2p',
  uid: 'uid-of-kube-proxy',
  resourceVersion: undefined,
};
const database: ObjectRef = { ...proxy, kind: 'Service', namespace: 'shop', name: 'postgres', uid: 'uid-of-postgres' };
const chain = 'KUBE-SVC-AAAAAAAAAAAAAAAA';

interface Counted {
  finding: Finding;
  time: number;
  weight: number;
}

let counted: Counted[];
let incidents: Incident[];
let pods: AffectedPod[];

beforeEach(() => {
  counted = [];
  incidents = [];
  pods = [];
});

function incident(given: Partial<Incident> = {}): Incident {
  const made: Incident = {
    code: 'KN102',
    failing: 'kube-proxy',
    failingPod: proxy,
    phase: 'open',
    first: nine,
    last: nine + 30 * second,
    opened: nine + 30 * second,
    ended: undefined,
    endedBy: undefined,
    failures: 2,
    unpublished: 2,
    endUnpublished: false,
    families: ['IPv4'],
    subjects: [chain],
    moreSubjects: 0,
    quote: 'Error occurred at line: 177',
    restarts: 0,
    ...given,
  };
  incidents.push(made);
  return made;
}

function reporter(given: Partial<ReporterOptions> = {}): Reporter {
  return createReporter({
    node: 'node-a',
    nodeRef,
    incidents: () => incidents,
    termsOf: () => ({
      severity: 'serious',
      reason: 'ProxySyncFailed',
      overReason: 'ProxySyncRecovered',
      impact: true,
    }),
    diagnose: ({ code }, { felix }) => (felix?.kind === 'settings' ? 'KN101' : code),
    findFacts: () => noFacts,
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

/** Packets of each object. */
function totals(): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { finding, weight } of counted)
    sums[finding.regarding.name] = (sums[finding.regarding.name] ?? 0) + weight;
  return sums;
}

const opened = (one: Incident): IncidentChange => ({ kind: 'opened', incident: one });
const continued = (one: Incident): IncidentChange => ({ kind: 'continued', incident: one });
const closed = (one: Incident): IncidentChange => ({ kind: 'closed', incident: one });

function over(one: Incident): Incident {
  return Object.assign(one, { phase: 'over', endedBy: 'success', ended: one.last + 5 * second, endUnpublished: true });
}

function merelyWarn(): ReturnType<ReporterOptions['termsOf']> {
  return { severity: 'warning', reason: 'A', overReason: 'B', impact: false };
}

function byCode(code: string): ReturnType<ReporterOptions['termsOf']> {
  return { severity: 'serious', reason: `Reason${code}`, overReason: `Over${code}`, impact: true };
}

function runUntil({ tick, nextTick }: Reporter, until: number): void {
  for (let now = nine + 30 * second; now <= until; now += 5 * second) if (nextTick() <= now) tick(now);
}

describe('the whole story', () => {
  test('is told on the culprit, the Node and the Service whose chain was named', () => {
    reporter().changed(opened(incident()));
    expect(new Set(objects())).toEqual(
      new Set([
        'ProxySyncFailed Pod kube-proxy-x7k2p',
        'ProxySyncFailed Node node-a',
        'ProxySyncFailed Service postgres',
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

  test('begins with the first failure and counts them all', () => {
    reporter().changed(opened(incident({ failures: 5, unpublished: 5 })));
    expect(counted.filter(({ finding }) => finding.regarding === proxy)).toMatchObject([
      { time: nine, weight: 1 },
      { time: nine + 30 * second, weight: 4 },
    ]);
  });

  test('goes on with each failure, in the same Event', () => {
    const one = incident();
    const { changed } = reporter();
    changed(opened(one));
    Object.assign(one, { failures: 3, unpublished: 1, last: nine + minute });
    changed(continued(one));
    expect(totals()).toEqual({ 'kube-proxy-x7k2p': 3, 'node-a': 3, postgres: 3 });
    expect(new Set(counted.map(({ finding }) => finding.identity)).size).toBe(3);
  });

  test('the Service’s Event is one for all nodes, the others are of this node', () => {
    reporter().changed(opened(incident()));
    for (const { finding } of counted) {
      expect(finding.shared === true).toBe(finding.regarding.kind === 'Service');
      expect(finding.identity.includes('node-a')).toBe(finding.regarding.kind !== 'Service');
    }
  });

  test('a mere warning is not told to Services', () => {
    reporter({ termsOf: merelyWarn }).changed(opened(incident()));
    expect(counted.map(({ finding }) => finding.regarding.kind)).not.toContain('Service');
  });

  test('the kernel has no Pod', () => {
    reporter().changed(opened(incident({ code: 'KN401', failing: 'kernel', failingPod: undefined, subjects: [] })));
    expect(new Set(objects())).toEqual(new Set(['ProxySyncFailed Node node-a']));
  });

  test('the end is told on the same objects, with how often and how it was seen', () => {
    const one = incident();
    const { changed } = reporter();
    changed(opened(one));
    counted = [];
    changed(closed(over(one)));
    expect(objects()).toEqual([
      'ProxySyncRecovered Pod kube-proxy-x7k2p',
      'ProxySyncRecovered Node node-a',
      'ProxySyncRecovered Service postgres',
    ]);
    expect(counted.map(({ finding: { type }, weight }) => [type, weight])).toEqual([
      ['Normal', 1],
      ['Normal', 1],
      ['Normal', 1],
    ]);
    expect(detailsOf(0)).toMatchObject({ phase: 'over', failures: 2, endedBy: 'success', ended: nine + 35 * second });
    expect(one.endUnpublished).toBe(false);
  });
});

describe('what has to be found out first', () => {
  test('is waited for, and what comes meanwhile is counted then', async () => {
    const found = Promise.withResolvers<NodeFacts>();
    const one = incident();
    const { changed } = reporter({ findFacts: () => found.promise });
    changed(opened(one));
    Object.assign(one, { failures: 4, unpublished: 4 });
    changed(continued(one));
    changed(closed(over(one)));
    expect(counted).toEqual([]);
    const settings = felixSettings({ bpfEnabled: true, bpfFrom: 'default' });
    found.resolve({ ...noFacts, felix: { kind: 'settings', settings } });
    await found.promise;
    await Promise.resolve();
    expect(totals()).toEqual({ 'kube-proxy-x7k2p': 5, 'node-a': 5, postgres: 5 });
    expect(detailsOf(0)).toMatchObject({ code: 'KN102', diagnosis: 'KN101' });
  });

  test('is asked once, and again when it may have changed', () => {
    let asked = 0;
    const findFacts = (): NodeFacts => {
      asked++;
      return noFacts;
    };
    const one = incident();
    const { changed } = reporter({ findFacts });
    for (let i = 0; i < 20; i++) {
      Object.assign(one, { unpublished: 1, failures: 2 + i, last: nine + i * 30 * second });
      changed(continued(one));
    }
    expect(asked).toBe(2);
  });
});

describe('Pods that suffer', () => {
  test('are pointed to it over minutes, those in trouble first and as a warning', () => {
    pods = [
      affectedPod('well'),
      affectedPod('crashing', { trouble: 'restarting' }),
      affectedPod('host', { hostNetwork: true }),
    ];
    const one = reporter();
    one.changed(opened(incident()));
    counted = [];
    runUntil(one, nine + 5 * minute);
    expect(counted.map(({ finding: { regarding, type, reason } }) => [regarding.name, type, reason])).toEqual([
      ['crashing', 'Warning', 'NodeNetworkDegraded'],
      ['well', 'Normal', 'NodeNetworkDegraded'],
    ]);
    expect(detailsOf(0)).toMatchObject({ role: 'pointer', phase: 'open' });
  });

  test('are counted in the whole story', () => {
    pods = Array.from({ length: 30 }, (_, i) => affectedPod(`pod-${i}`));
    reporter().changed(opened(incident()));
    expect(detailsOf(0).affected.count).toBe(30);
    expect(detailsOf(0).affected.names).toHaveLength(3);
  });

  test('are told when it is over, each that was pointed to it and nobody else', () => {
    pods = [affectedPod('a', { trouble: 'unready' }), affectedPod('b')];
    const subject = incident();
    const one = reporter();
    one.changed(opened(subject));
    runUntil(one, nine + 40 * second);
    counted = [];
    one.changed(closed(over(subject)));
    counted = [];
    runUntil(one, nine + 10 * minute);
    expect(objects()).toEqual(['NodeNetworkRecovered Pod a']);
  });

  test('of a network namespace with a table of its own: that Pod alone', () => {
    pods = [affectedPod('a'), affectedPod('b')];
    const one = reporter({ findFacts: () => ({ ...noFacts, namespacePod: 'uid-of-b' }) });
    one.changed(opened(incident({ code: 'KN401', failing: 'kernel', failingPod: undefined, subjects: [] })));
    counted = [];
    runUntil(one, nine + 10 * minute);
    expect(objects()).toEqual(['NodeNetworkDegraded Pod b']);
  });

  test('there is nothing to do where nobody suffers', () => {
    pods = [affectedPod('a')];
    const one = reporter({ termsOf: merelyWarn });
    one.changed(opened(incident()));
    expect(one.nextTick()).toBe(Infinity);
  });
});

test('after a restart nothing is told twice, and who is still to be told is', () => {
  pods = [affectedPod('a'), affectedPod('b')];
  const subject = incident();
  const before = reporter();
  before.changed(opened(subject));
  before.tick(nine + 45 * second);
  counted = [];
  const restored = JSON.parse(JSON.stringify(before.state())) as ReporterState;
  const after = reporter({ restored });
  after.tick(nine + 46 * second);
  expect(counted).toEqual([]);
  after.tick(nine + 60 * second);
  expect(objects()).toEqual(['NodeNetworkDegraded Pod b']);
});

test('what comes before the objects are known is told as soon as they are', () => {
  let ready = false;
  const one = incident();
  const { changed, tick, nextTick } = reporter({ isReady: () => ready });
  changed(opened(one));
  changed(closed(over(one)));
  tick(nine + minute);
  expect([counted, nextTick()]).toEqual([[], Infinity]);
  ready = true;
  expect(nextTick()).toBe(0);
  tick(nine + minute);
  expect(totals()).toEqual({ 'kube-proxy-x7k2p': 3, 'node-a': 3, postgres: 3 });
  expect([one.unpublished, one.endUnpublished]).toEqual([0, false]);
});

test('another explanation is another Event', () => {
  let settings = 'KN101';
  const one = incident();
  const { changed } = reporter({ termsOf: byCode, diagnose: () => settings });
  changed(opened(one));
  settings = 'KN102';
  Object.assign(one, { failures: 3, unpublished: 1 });
  changed(continued(one));
  const ofNode = counted.filter(({ finding }) => finding.regarding.kind === 'Node').map(({ finding }) => finding);
  expect(new Set(ofNode.map(({ reason, identity }) => `${reason} ${identity}`)).size).toBe(2);
  expect(ofNode.at(-1)?.reason).toBe('ReasonKN102');
});

test('an incident that is forgotten leaves nothing behind', () => {
  const one = reporter();
  one.changed(opened(incident()));
  incidents = [];
  one.tick(nine + minute);
  expect(one.state()).toEqual({});
});
