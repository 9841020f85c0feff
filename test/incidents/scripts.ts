import { causes } from '../../src/incidents/catalogue/catalogue.ts';
import type { IncidentChange } from '../../src/incidents/incident.ts';
import type { CourseOf } from '../../src/incidents/tracker/rules.ts';
import type { IncidentsState } from '../../src/incidents/tracker/state.ts';
import { createIncidentTable, type IncidentTable } from '../../src/incidents/tracker/table.ts';
import type { ObjectRef } from '../../src/model/endpoint.ts';
import type { Millis } from '../../src/model/log-line.ts';
import type { Failing, FailureSign, SyncSign } from '../../src/model/program-record.ts';

export const second: Millis = 1000;
export const minute: Millis = 60_000;
/** Of all causes in these tests, unless something else is said; that of restarts is as long as the kubelet's longest back-off. */
export const retryInterval: Millis = 30 * second;

export const courseOf: CourseOf = (code) => ({
  ...causes.find((cause) => cause.code === code),
  retryInterval: code === 'KN116' || code === 'KN117' ? 5 * minute : retryInterval,
});

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

export interface Listener {
  onChange: (change: IncidentChange) => void;
  /** `opened KN102 2`: what happened, of what, and how many failures were new. */
  heard: string[];
}

/** One that has told everything at once. */
export function createListener(): Listener {
  const heard: string[] = [];
  return {
    heard,
    onChange({ kind, incident }) {
      heard.push(
        kind === 'closed'
          ? `closed ${incident.code} by ${incident.endedBy}`
          : `${kind} ${incident.code} ${incident.unpublished}`,
      );
      incident.unpublished = 0;
      if (kind === 'closed') incident.endUnpublished = false;
    },
  };
}

/**
 * Runs a script of lines `<seconds> <what> [<more>]`:
 *
 *     0 KN102 [IPv6|-]    a failure of that code; `-`: of no family that is known
 *     0 failed [IPv6]     kube-proxy says that a sync failed
 *     0 complete [IPv6]   … that it is complete
 *     0 attempt KN102     what kube-proxy logs of a sync that fails
 *     0 restart           its container is started anew
 *     0 tick
 *
 * and gives what was heard, each with the second at which it was: `30 opened KN102 2`.
 */
export function play(script: string, { heard, table } = start(), failing: Failing = 'kube-proxy'): string[] {
  const told: string[] = [];
  for (const line of script.trim().split('\n')) {
    const [at = '', what = '', more = 'IPv4'] = line.trim().split(/ +/);
    const before = heard.length;
    act(table, failing, Number(at) * second, what, more === '-' ? '' : more);
    for (const change of heard.slice(before)) told.push(`${at} ${change}`);
  }
  return told;
}

export function start(restored?: IncidentsState): { heard: string[]; table: IncidentTable } {
  const { heard, onChange } = createListener();
  return { heard, table: createIncidentTable({ restored, courseOf, onChange }) };
}

function act(table: IncidentTable, failing: Failing, time: Millis, what: string, more: string): void {
  switch (what) {
    case 'failed':
      return table.take(sync('sync-failed', more, { failing }), time, undefined);
    case 'complete':
      return table.take(sync('sync-complete', more, { failing }), time, undefined);
    case 'attempt':
      table.take(failure({ code: more, failing }), time, kubeProxy);
      table.take(sync('sync-failed', 'IPv4', { failing }), time + 1, undefined);
      return table.take(sync('sync-complete', 'IPv4', { failing }), time + 1, undefined);
    case 'restart':
      return table.restarted(failing, kubeProxy, time, 'its last words');
    case 'tick':
      return table.tick(time);
    default:
      return table.take(failure({ code: what, family: more, failing }), time, kubeProxy);
  }
}
