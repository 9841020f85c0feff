import { expect, test } from 'vitest';
import type { AffectedPod } from '../../../src/explain/incidents/reporting/details.ts';
import type { IncidentDetails } from '../../../src/base/model/incident.ts';
import type { Millis } from '../../../src/base/model/log-line.ts';
import type { NodeIncidentsOptions } from '../../../src/explain/incidents/incidents.ts';
import { felixSettings, nine, nodeRef, postgresService } from '../../builders.ts';
import { affectedPod } from '../../explain/incidents/node-incidents.ts';
import {
  calicoLog,
  complete,
  failed,
  incidentScene,
  type IncidentScene,
  proxyLog,
  type Published,
} from './incident-scene.ts';
import { nastyLines } from './nasty-lines.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const locked =
  'E1121 09:00:00.910840       1 proxier.go:1564] "Failed to execute iptables-restore" err="exit status 4: Another app is currently holding the xtables lock." ipFamily="IPv4"';
const felix = (text: string): string => `2026-11-21 09:00:00.942 [WARNING][56] felix/table.go 654: ${text}`;

interface Scene extends IncidentScene {
  /** Does the housekeeping every five seconds by the clock, as the agent does. */
  look: (from: Millis, until: Millis) => void;
}

function scene(given: Partial<NodeIncidentsOptions> = {}): Scene {
  const one = incidentScene(given);
  return {
    ...one,
    look(from, until) {
      for (let now = from; now <= until; now += 5 * second)
        if (one.incidents.nextTick() <= now) one.incidents.tick(now);
    },
  };
}

function detailsOf({ finding }: Published): IncidentDetails {
  return finding.details as IncidentDetails;
}

/** Returns all details that have this role, each once, for example `open Node node-a`. */
function publishedOf(published: readonly Published[], role: IncidentDetails['role'] = 'full'): string[] {
  return [
    ...new Set(
      published
        .filter((one) => detailsOf(one).role === role)
        .map((one) => `${detailsOf(one).phase} ${one.finding.regarding.kind} ${one.finding.regarding.name}`),
    ),
  ];
}

const manyPods = (count: number): AffectedPod[] => Array.from({ length: count }, (_, i) => affectedPod(`pod-${i}`));

test('an incident that opens and closes while the API server is away makes both Events when it is back, however long that took', () => {
  let ready = false;
  const { fail, say, look, published, incidents } = scene({ isReady: () => ready });
  fail(nine);
  fail(nine + 30 * second);
  say(complete, nine + minute);
  look(nine + minute, nine + 2 * hour);
  expect(published).toEqual([]);
  ready = true;
  look(nine + 2 * hour, nine + 2 * hour + minute);
  expect(publishedOf(published)).toEqual([
    'open Pod kube-proxy-x7k2p',
    'open Node node-a',
    'over Pod kube-proxy-x7k2p',
    'over Node node-a',
  ]);
  expect(incidents.tracker.incidents).toEqual([]);
});

test('an API server that is away is asked for explaining facts only when it is back', () => {
  let ready = false;
  const settings = felixSettings({ bpfEnabled: true, bpfFrom: 'default' });
  const facts: NodeIncidentsOptions['facts'] = {
    felix: () => (ready ? { kind: 'settings', settings } : { kind: 'unreadable', reason: 'failed' }),
  };
  const { fail, look, published } = scene({ isReady: () => ready, facts });
  fail(nine);
  fail(nine + 30 * second);
  ready = true;
  look(nine + 40 * second, nine + 45 * second);
  expect(new Set(published.map((one) => detailsOf(one).diagnosis))).toEqual(new Set(['KN101']));
});

test('after Pods were notified, an API server that is away gets the end for each of them when it is back', () => {
  let ready = true;
  const { fail, say, look, published } = scene({ isReady: () => ready, podsHere: () => manyPods(30) });
  for (let at = nine; at <= nine + 10 * minute; at += 30 * second) {
    fail(at);
    look(at, at + 25 * second);
  }
  ready = false;
  say(complete, nine + 11 * minute);
  look(nine + 11 * minute, nine + 2 * hour);
  ready = true;
  look(nine + 2 * hour, nine + 2 * hour + 10 * minute);
  const notices = publishedOf(published, 'pod-notice').toSorted();
  const [open, over] = ['open', 'over'].map((phase) => notices.filter((each) => each.startsWith(phase)));
  expect(open).toHaveLength(20);
  expect(over).toEqual(open?.map((each) => each.replace('open', 'over')));
});

const { published: publishedThen, alive } = fiveHours();
const noticesOfPods = publishedThen.filter((one) => detailsOf(one).role === 'pod-notice');
const byPod = Map.groupBy(noticesOfPods, ({ finding }) => finding.regarding.name);

test('each Pod is notified at most once an hour', () => {
  const pauses = [...byPod.values()].flatMap((all) => {
    const times = all.filter((one) => detailsOf(one).phase === 'open').map(({ time }) => time);
    return times.slice(1).map((time, index) => time - (times[index] ?? 0));
  });
  expect(pauses.length).toBeGreaterThan(10);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(hour);
});

test('no more than 20 Pods are notified in any hour', () => {
  const times = noticesOfPods.filter((one) => detailsOf(one).phase === 'open').map(({ time }) => time);
  const inAnHour = times.map((from) => times.filter((time) => time >= from && time < from + hour).length);
  expect(Math.max(...inAnHour)).toBe(20);
});

test('Pods that are made later are also notified', () => {
  const late = [...byPod.keys()].filter((name) => Number(/^pod-(\d+)-/.exec(name)?.[1]) >= 3);
  expect(late.length).toBeGreaterThan(5);
});

test('each Pod that was notified in the last hour and still exists gets the end, once', () => {
  const ends = noticesOfPods
    .filter((one) => detailsOf(one).phase === 'over')
    .map(({ finding }) => finding.regarding.name);
  expect(new Set(ends).size).toBe(ends.length);
  const recent = noticesOfPods
    .filter((one) => detailsOf(one).phase === 'open' && one.time > nine + 4 * hour)
    .map(({ finding }) => finding.regarding.name)
    .filter((name) => alive.has(name));
  expect(recent.length).toBeGreaterThan(3);
  expect(ends).toEqual(expect.arrayContaining(recent));
});

function fiveHours(): { published: Published[]; alive: Set<string> } {
  let generation = 0;
  const pods = () => [
    ...manyPods(4),
    ...Array.from({ length: 30 }, (_, i) => affectedPod(`pod-${generation}-${i}`, i < 2 ? { problem: 'unready' } : {})),
  ];
  const one = scene({ podsHere: pods });
  for (let at = nine; at < nine + 5 * hour; at += 30 * second) {
    generation = Math.floor((at - nine) / (30 * minute));
    one.fail(at);
    one.look(at, at + 25 * second);
  }
  one.say(complete, nine + 5 * hour);
  one.look(nine + 5 * hour, nine + 6 * hour);
  return { published: one.published, alive: new Set(pods().map(({ name }) => name)) };
}

test('a deleted Service and a replaced kube-proxy Pod or Node get the end', () => {
  let age = 0;
  const { fail, say, published } = scene({
    nodeRef: () => ({ ...nodeRef(), uid: `uid-of-node-${age}` }),
    chains: {
      ownerOf: () => (age === 0 ? { service: postgresService, port: '5432', deleted: false } : undefined),
      backendsOf: () => [],
    },
  });
  fail(nine);
  fail(nine + 30 * second);
  age = 1;
  fail(nine + 60 * second, proxyLog(0, 'z9y8x'));
  published.length = 0;
  say(complete, nine + 90 * second, proxyLog(0, 'z9y8x'));
  expect(published.map(({ finding: { regarding, shared } }) => [regarding.kind, regarding.uid, shared])).toEqual([
    ['Pod', 'uid-of-x7k2p', undefined],
    ['Node', 'uid-of-node-0', undefined],
    ['Service', 'uid-of-postgres', true],
    ['Pod', 'uid-of-z9y8x', undefined],
    ['Node', 'uid-of-node-1', undefined],
  ]);
});

test('after a replacement, later Events are on the new object', () => {
  let age = 0;
  const { fail, say, published } = scene({ nodeRef: () => ({ ...nodeRef(), uid: `uid-of-node-${age}` }) });
  for (; age < 2; age++) {
    published.length = 0;
    fail(nine + age * 10 * minute);
    fail(nine + age * 10 * minute + 30 * second);
    say(complete, nine + age * 10 * minute + minute);
  }
  expect(published.map(({ finding }) => finding.regarding.uid)).not.toContain('uid-of-node-0');
});

test('felix and kube-proxy that fail for the same reason at the same time are two incidents', () => {
  const { say, incidents } = scene();
  for (let at = nine; at < nine + 5 * minute; at += 30 * second) {
    say(
      felix(
        'Failed to execute ip(6)tables-restore command error=exit status 4 errorOutput="Another app is currently holding the xtables lock." ipVersion=0x4 table="nat"',
      ),
      at,
      calicoLog,
    );
    say(locked, at + 50);
    say(felix('Failed to program iptables, will retry error=exit status 4 ipVersion=0x4'), at + 100, calicoLog);
  }
  expect(incidents.tracker.incidents.map(({ code, failing }) => `${code} ${failing}`)).toEqual([
    'KN104 felix',
    'KN104 kube-proxy',
  ]);
});

test('a record that comes hundreds of times a second does not search the cluster as often', () => {
  let looks = 0;
  const look = <T>(value: T): T => {
    looks++;
    return value;
  };
  const pods = manyPods(250);
  const { say, published } = scene({
    podsHere: () => look(pods),
    chains: {
      ownerOf: (chain) => ({ service: { ...nodeRef(), kind: 'Service', name: chain }, port: '80', deleted: false }),
      backendsOf: () => look([]),
    },
  });
  for (let i = 0; i < 2000; i++) say(failed(`KUBE-SVC-AAAAAAAAAAAAAAA${'BCDEFGHI'[i % 8]}`), nine + i * 6);
  const counted = published.filter(({ finding }) => finding.regarding.kind === 'Node');
  expect(counted.length).toBeGreaterThan(1500);
  // In twelve seconds, and whenever a chain is new: looks for eight Services and for the Pods.
  expect(looks).toBeLessThan(25 * 9);
});

test.each(nastyLines)('sixty lines that only resemble errors are not an incident: %s', (program, texts) => {
  expect(texts).toHaveLength(60);
  const { say, look, published, incidents } = scene();
  const path = program === 'kube-proxy' || program === 'kubelet' || program === 'coredns' ? proxyLog() : calicoLog;
  for (const [i, text] of [...texts, ...texts, ...texts].entries()) say(text, nine + i * 10 * second, path);
  look(nine + 30 * minute, nine + 2 * hour);
  expect(published).toEqual([]);
  expect(incidents.tracker.counts.failures).toEqual({});
});
