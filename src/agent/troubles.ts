import { causeOf } from '../incidents/catalogue/catalogue.ts';
import type { IncidentChange } from '../incidents/incident.ts';
import type { RequestReport } from '../kubernetes/connection.ts';
import type { InformerTrouble } from '../kubernetes/informer.ts';
import type { WatchedResource } from '../kubernetes/cluster-watch.ts';
import type { NodeFacts } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, WriteResult } from '../model/series.ts';
import { type Denier, denierOf } from '../events/denial.ts';
import type { Refusal } from '../events/event-store.ts';

import type { Loss, Notice } from '../sources/source.ts';
import type { Log } from '../telemetry/logger.ts';
import { type AnswersOptions, createAnswers } from './api-answers.ts';

/** Says what goes wrong between the agent and everything around it: once in the log, each time in the metrics. */
export interface Troubles {
  informer: (resource: WatchedResource, trouble: InformerTrouble) => void;
  synced: (resource: WatchedResource) => void;
  unusable: (resource: WatchedResource, error: unknown) => void;
  tooMany: (resource: WatchedResource, count: number, limit: number) => void;
  write: (
    verb: 'create' | 'update' | 'read',
    result: WriteResult,
    series: Series,
    refusal: Refusal | undefined,
  ) => void;
  /** Nothing more is tried for a problem. */
  abandoned: (reason: WriteResult | 'muted') => void;
  source: (name: string, notice: Notice) => void;
  lost: (source: string, loss: Loss) => void;
  request: (report: RequestReport) => void;
  state: (operation: 'load' | 'save', error: unknown) => void;
  stateSaved: () => void;
  clock: (skew: Millis | undefined) => void;
  node: (name: string, known: boolean, others: readonly string[]) => void;
  /** What an incident is explained by could be read, or not. */
  felix: (felix: NodeFacts['felix']) => void;
  /** Not this program's trouble, but worth a line where somebody looks for it. */
  incident: (change: IncidentChange) => void;
}

/** The same in totals, for the line of each minute. */
export interface TroubleCounts {
  eventsWritten: number;
  eventWritesFailed: number;
  eventsAbandoned: number;
  requestsFailed: number;
  recordsLost: number;
  bytesLost: number;
  watchRestarts: number;
  stateErrors: number;
}

export interface TroublesOptions extends AnswersOptions {
  log: Log;
}

/** Exporters throw away Events whose time is further off than that. */
const tolerableSkew: Millis = 5000;

/** What is done where there are too many objects to be watched from every node. */
const insteadOfWatching: Readonly<Record<WatchedResource, string>> = {
  pods: 'none is watched',
  nodes: 'only this one is watched',
  services: 'none is watched; their addresses stay addresses',
  endpointslices: 'none is watched; Pods behind a Service are looked up when an incident names it',
};

/** With `an Event`: who denies it. */
const deniers: Readonly<Record<Denier, string>> = {
  webhook: 'An admission webhook denies',
  policy: 'A ValidatingAdmissionPolicy denies',
  quota: 'A ResourceQuota has no room for',
  admission: "The API server's admission denies",
};

/** RBAC's words for what is done with Events. */
const eventVerbs = { create: 'create', update: 'patch', read: 'get' } as const;

export function createTroubles({ log, rateLimitedLog, metrics, server }: TroublesOptions): {
  troubles: Troubles;
  tally: Readonly<TroubleCounts>;
} {
  const { complain, settled } = rateLimitedLog;
  const { refused, denied, granted, reached } = createAnswers({ rateLimitedLog, metrics, server });
  const tally: TroubleCounts = {
    eventsWritten: 0,
    eventWritesFailed: 0,
    eventsAbandoned: 0,
    requestsFailed: 0,
    recordsLost: 0,
    bytesLost: 0,
    watchRestarts: 0,
    stateErrors: 0,
  };
  const troubles: Troubles = {
    informer(resource, { verb, refusal }) {
      metrics.watchRestarts.add(1, { resource });
      tally.watchRestarts++;
      if (refusal === undefined)
        return complain(
          'info',
          `silence ${resource}`,
          { resource },
          `The watch of ${resource} was silent and is made anew`,
        );
      refused(verb, resource, refusal);
    },
    synced(resource) {
      for (const verb of ['list', 'watch'] as const) granted(verb, resource);
      settled(`${resource} failing`, `${resource} are listed and watched again`);
      reached();
    },
    unusable(resource, error) {
      complain('warn', `unusable ${resource}`, { error }, `One of the ${resource} cannot be used and is left out`);
    },
    tooMany(resource, count, limit) {
      const instead = insteadOfWatching[resource];
      complain(
        'info',
        `many ${resource}`,
        { count, limit },
        `There are ${count} ${resource}, more than ${limit}: ${instead}`,
      );
    },
    write(verb, result, series, refusal) {
      metrics.eventWrites.add(1, { verb, result });
      tally[result === 'ok' ? 'eventsWritten' : 'eventWritesFailed']++;
      const object = series.finding.regarding;
      const about = { object: `${object.kind} ${object.namespace ?? ''}/${object.name}`, answer: refusal?.message };
      switch (result) {
        case 'ok':
          log.debug({ ...about, verb }, 'Event written');
          granted(eventVerbs[verb], 'events');
          reached();
          return;
        case 'forbidden':
          return denied(eventVerbs[verb], 'events', refusal as Refusal);
        case 'denied': {
          // Admission comes after the token and the rights.
          granted(eventVerbs[verb], 'events');
          reached();
          const denier = denierOf(refusal as Refusal) ?? 'admission';
          return complain(
            'error',
            `event denied by ${denier}`,
            about,
            `${deniers[denier]} an Event; it is tried again every ten minutes, and counted on meanwhile`,
          );
        }
        case 'throttled':
        case 'unauthorized':
        case 'unavailable':
          return refused(eventVerbs[verb], 'events', refusal as Refusal);
        case 'failed':
          return complain(
            'warn',
            'event failed',
            about,
            'The API server failed on an Event; it is tried again every minute',
          );
        case 'invalid':
        case 'foreign':
          return complain(
            'error',
            `event ${result}`,
            about,
            'The API server refuses an Event for good; it is given up',
          );
        case 'terminating':
        case 'gone':
        case 'conflict':
          return;
        default:
          result satisfies never;
      }
    },
    abandoned(reason) {
      metrics.eventsAbandoned.add(1, { reason });
      tally.eventsAbandoned++;
    },
    lost(source, { count, unit, reason }) {
      if (unit === 'records') {
        metrics.lostRecords.add(count ?? 1, { source });
        tally.recordsLost += count ?? 1;
      } else {
        metrics.lostBytes.add(count ?? 0, { source });
        tally.bytesLost += count ?? 0;
      }
      complain('warn', `lost ${source}`, { source, count, unit }, reason);
    },
    request({ verb, resource, code, took }) {
      metrics.apiRequests.add(1, { verb, resource, code: String(code) });
      metrics.apiRequestSeconds.observe(took / 1000, { verb });
      if (code === 0 || code >= 400) tally.requestsFailed++;
    },
    source: (name, { level, key, text }) => complain(level, `source ${name} ${key}`, { source: name }, text),
    state(operation, error) {
      metrics.stateErrors.add(1, { operation });
      tally.stateErrors++;
      if (operation === 'load') return complain('error', 'state load', {}, String(error));
      complain(
        'error',
        'state save',
        { error },
        'Positions and counts cannot be kept on disk: if this program is killed now, packets may be counted twice or not at all',
      );
    },
    stateSaved: () => settled('state save', 'Positions and counts are kept on disk again'),
    clock(skew) {
      if (skew === undefined) return;
      if (Math.abs(skew) <= tolerableSkew)
        return settled('clock', "This node's clock agrees with the API server's again");
      const seconds = Math.round(Math.abs(skew) / 1000);
      complain(
        'warn',
        'clock',
        { skewSeconds: skew / 1000 },
        `This node's clock is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the API server's: times and ages of Events are off by as much, and exporters may ignore them`,
      );
    },
    node(name, known, others) {
      if (known) return settled('node', `There is a Node ${name} now`);
      complain(
        'error',
        'node',
        { nodes: others.slice(0, 5) },
        `There is no Node ${name}: no Pod is known to run here. Is NODE_NAME right?`,
      );
    },
    felix(felix) {
      if (felix === undefined) return;
      if (felix.kind === 'unreadable' && felix.reason === 'forbidden')
        return denied('get', 'felixconfigurations', { message: '' });
      granted('get', 'felixconfigurations');
    },
    incident({ kind, incident: { code, failing, failures, quote, endedBy } }) {
      const about = { code, failing, failures };
      if (kind === 'opened') log.warn({ ...about, quote }, `${code}: ${causeOf(code).title}`);
      else if (kind === 'closed') log.info({ ...about, endedBy }, `${code} is over: ${causeOf(code).title}`);
    },
  };
  return { troubles, tally };
}
