import { join } from 'node:path';
import type { Incident, IncidentChange } from '../../../src/explain/incidents/incident.ts';
import type { Restart } from '../../../src/explain/incidents/tracker/programs.ts';
import { Tracker, type TrackerState } from '../../../src/explain/incidents/tracker/tracker.ts';
import type { ObjectRef } from '../../../src/base/model/endpoint.ts';
import type { Millis } from '../../../src/base/model/log-line.ts';
import type { Failing, FailureSign, Sign, SyncSign } from '../../../src/base/model/program-record.ts';
import { rowsIn } from '../../corpus/lines.ts';

export const second: Millis = 1000;
export function failure(given: Partial<FailureSign> = {}): FailureSign {
  return {
    kind: 'failure',
    code: 'KN102',
    failing: 'kube-proxy',
    family: 'IPv4',
    subject: undefined,
    quote: 'it failed',
    backend: undefined,
    ...given,
  };
}

export function sync(kind: SyncSign['kind'], family = 'IPv4', given: Partial<SyncSign> = {}): SyncSign {
  return { kind, failing: 'kube-proxy', family, retry: kind === 'sync-failed' ? 30 * second : undefined, ...given };
}

export const kubeProxy: ObjectRef = {
  apiVersion: 'v1',
  kind: 'Pod',
  namespace: 'kube-system',
  name: 'kube-proxy-x7k2p',
  uid: 'uid-of-kube-proxy',
  resourceVersion: undefined,
};

/**
 * Runs a script of lines `<seconds> <what> [<more>]`:
 *
 *     0 KN102 [IPv6|-]    a failure of that code; `-`: of an unknown address family
 *     0 failed [IPv6]     kube-proxy logs that a sync failed
 *     0 complete [IPv6]   … that it is complete
 *     0 attempt KN102     what kube-proxy logs about a sync that fails
 *     0 restart           its container is restarted
 *     0 tick
 *
 * Returns the changes, each with its second: `30 opened KN102 2`.
 */
export function play(script: string, { heard, tracker } = start(), failing: Failing = 'kube-proxy'): string[] {
  const changes: string[] = [];
  for (const line of script.trim().split('\n')) {
    const [at = '', what = '', more = 'IPv4'] = line.trim().split(/ +/);
    const before = heard.length;
    act(tracker, failing, Number(at) * second, what, more === '-' ? '' : more);
    for (const change of heard.slice(before)) changes.push(`${at} ${change}`);
  }
  return changes;
}

/**
 * The rows of a file of scripts: title, script, the changes that the script makes, which follow it in lines `-> CHANGE`, and the resulting
 * incidents as statesOf() describes them, in lines `=> STATE`.
 */
export function scriptsIn(file: string): [title: string, script: string, changes: string[], states: string[]][] {
  return rowsIn(join(import.meta.dirname, file)).map(({ id, text }) => {
    const lines = text.split('\n');
    const strange = lines.find((line) => !/^(?:\d|[-=]> )/.test(line));
    if (strange !== undefined) throw new Error(`${file}: ${id}: ${strange}`);
    const behind = (mark: string): string[] =>
      lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
    return [id, lines.filter((line) => /^\d/.test(line)).join('\n'), behind('-> '), behind('=> ')];
  });
}

/**
 * Describes the incidents, for example `KN102 open: 4 failures from 0 to 360, since 240; next tick at 600`, with times
 * in seconds.
 */
export function statesOf({ tracker }: Started): string[] {
  const next = tracker.nextTick === Infinity ? 'no tick' : `tick at ${tracker.nextTick / second}`;
  return tracker.incidents.map(({ code, families, phase, failures, first, last, opened, ended }) => {
    const since = opened === undefined ? '' : `, since ${opened / second}`;
    const end = ended === undefined ? '' : `, until ${ended / second}`;
    const of = families.length > 1 ? ` of ${families.join(' and ')}` : '';
    return `${code}${of} ${phase}: ${failures} failures from ${first / second} to ${last / second}${since}${end}; ${next}`;
  });
}

export type LedTracker = ReturnType<typeof ledTracker>;

/**
 * A tracker driven as incidents.ts drives it: what is due is settled first, and each change is heard before anything
 * else happens.
 */
export function ledTracker(
  hear: (change: IncidentChange, tracker: Tracker) => void,
  restored?: TrackerState,
  kept: ReadonlySet<string> = new Set(),
) {
  const tracker = new Tracker(restored);
  return {
    state: () => tracker.state(),
    acknowledge: (incident: Incident): void => tracker.acknowledge(incident),
    counts: tracker.counts,
    get unrepeated() {
      return tracker.unrepeated;
    },
    get incidents() {
      return tracker.incidents;
    },
    get nextTick() {
      return tracker.nextTick;
    },
    get revision() {
      return tracker.revision;
    },
    tick: (now: Millis): void => settle(now),
    endOfLog: (): void => void heard(tracker.endOfLog()),
    take(sign: Sign, time: Millis, pod: ObjectRef | undefined): void {
      settle(time, sign.failing);
      heard(tracker.take(sign, time, pod));
    },
    restarted(restart: Restart, pod: ObjectRef | undefined, time: Millis): void {
      settle(time, restart.failing);
      heard(tracker.restarted(restart, pod, time));
    },
  };

  function settle(now: Millis, failing?: Failing): void {
    while (heard(tracker.settle(now, kept, failing)));
  }

  function heard(changes: readonly IncidentChange[]): boolean {
    for (const change of changes) hear(change, tracker);
    return changes.length > 0;
  }
}

export interface Started {
  tracker: LedTracker;
  /** What changed, on which incident, and how many failures were new: `opened KN102 2`. */
  heard: string[];
}

/** A tracker whose changes are published at once. */
export function start(restored?: TrackerState): Started {
  const heard: string[] = [];
  const tracker = ledTracker(({ kind, incident }, published) => {
    const { code, endedBy, unpublished } = incident;
    heard.push(kind === 'closed' ? `closed ${code} by ${endedBy}` : `${kind} ${code} ${unpublished}`);
    published.acknowledge(incident);
  }, restored);
  return { heard, tracker };
}

function act(tracker: LedTracker, failing: Failing, time: Millis, what: string, more: string): void {
  switch (what) {
    case 'failed':
      return tracker.take(sync('sync-failed', more, { failing }), time, undefined);
    case 'complete':
      return tracker.take(sync('sync-complete', more, { failing }), time, undefined);
    case 'attempt':
      tracker.take(failure({ code: more, failing }), time, kubeProxy);
      tracker.take(sync('sync-failed', 'IPv4', { failing }), time + 1, undefined);
      return tracker.take(sync('sync-complete', 'IPv4', { failing }), time + 1, undefined);
    case 'restart':
      return tracker.restarted({ failing, lastWords: 'its last words' }, kubeProxy, time);
    case 'tick':
      return tracker.tick(time);
    default:
      return tracker.take(failure({ code: what, family: more, failing }), time, kubeProxy);
  }
}
