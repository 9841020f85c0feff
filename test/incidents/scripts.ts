import type { TrackerState } from '../../src/incidents/tracker/state.ts';
import { createTracker, type Tracker } from '../../src/incidents/tracker/tracker.ts';
import type { ObjectRef } from '../../src/model/endpoint.ts';
import type { Millis } from '../../src/model/log-line.ts';
import type { Failing, FailureSign, SyncSign } from '../../src/model/program-record.ts';

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
 *     0 KN102 [IPv6|-]    a failure of that code; `-`: of no family that is known
 *     0 failed [IPv6]     kube-proxy logs that a sync failed
 *     0 complete [IPv6]   … that it is complete
 *     0 attempt KN102     what kube-proxy logs of a sync that fails
 *     0 restart           its container is restarted
 *     0 tick
 *
 * and gives the changes, each with the second at which it was: `30 opened KN102 2`.
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

export interface Started {
  tracker: Tracker;
  /** `opened KN102 2`: what changed, of what, and how many failures were new. */
  heard: string[];
}

/** A tracker whose changes are published at once. */
export function start(restored?: TrackerState): Started {
  const heard: string[] = [];
  const tracker = createTracker({
    restored,
    onChange({ kind, incident }) {
      const { code, endedBy, unpublished } = incident;
      heard.push(kind === 'closed' ? `closed ${code} by ${endedBy}` : `${kind} ${code} ${unpublished}`);
      tracker.acknowledge(incident);
    },
  });
  return { heard, tracker };
}

function act(tracker: Tracker, failing: Failing, time: Millis, what: string, more: string): void {
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
