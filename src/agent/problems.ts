import {
  type Attempt,
  type Denier,
  denierOf,
  type Refusal,
  retryDelays,
  tolerableSkew,
} from '../publish/events/events.ts';
import { causeOf, type IncidentChange } from '../explain/incidents/incidents.ts';
import type { InformerProblem, WatchedResource } from './kubernetes/kubernetes.ts';
import type { NodeFacts } from '../base/model/incident.ts';
import type { Millis } from '../base/model/log-line.ts';
import { humanDuration } from '../base/platform/duration.ts';
import type { WriteResult } from '../base/model/series.ts';
import type { Loss, Notice } from '../read/sources/sources.ts';
import type { Log, RateLimitedLog } from './telemetry/logger.ts';
import { type ApiAnswers, type ApiAnswersOptions, createApiAnswers } from './api-answers.ts';
import { createAuditProblems, createStateProblems, type StateProblems } from './output-problems.ts';
import { createMemoryProblems, type MemoryProblems } from './memory.ts';
import type { DeliveryReport } from '../publish/audit/audit.ts';

const insteadOfWatching: Readonly<Record<WatchedResource, string>> = {
  pods: 'none is watched',
  nodes: 'only this one is watched',
  services: 'none is watched; each private address may be one of a Service',
  endpointslices: 'none is watched; Pods behind a Service are looked up when an incident names it',
  namespaces: 'none is watched; the audit names no Pod',
};

export interface ApiProblems extends MemoryProblems {
  settle: () => void;
  watchFailed: (resource: WatchedResource, problem: InformerProblem) => void;
  synced: (resource: WatchedResource) => void;
  unusable: (resource: WatchedResource, error: unknown) => void;
  tooMany: (resource: WatchedResource, count: number, limit: number) => void;
  node: (name: string, known: boolean, others: readonly string[]) => void;
  /** Reports a problem of the shared directory; undefined means that it has answered. */
  directory: (error: unknown) => void;
  felix: (felix: NodeFacts['felix']) => void;
  /** `refusal` is undefined if the request succeeded. */
  nodeCondition: (verb: 'list' | 'patch', refusal: Refusal | undefined) => void;
  /** `skew`: this node's clock minus the API server's. */
  clock: (skew: Millis | undefined) => void;
  attempted: (attempt: Attempt) => void;
  abandoned: (reason: WriteResult | 'muted') => void;
}

export function createApiProblems(options: ApiAnswersOptions, counts: ProblemCounts): ApiProblems {
  const { log, metrics, rateLimitedLog } = options;
  const { report, resolve } = rateLimitedLog;
  const answers = createApiAnswers(options);
  const reportWrite = createWriteReport(log, rateLimitedLog, answers);
  return {
    settle: answers.shared.settle,
    watchFailed: (resource: WatchedResource, { verb, refusal, silent }: InformerProblem): void => {
      metrics.watchRestarts.add(1, { resource });
      counts.watchRestarts++;
      if (refusal !== undefined) return answers.refused(verb, resource, refusal);
      // If the server's etcd does not answer, watches are also silent. That is one problem.
      if (silent !== true || answers.shared.wasReported('api server')) return;
      const text = `The watch of ${resource} was silent and is started again`;
      answers.shared.report('silence', resource, 'info', { resource }, text);
    },
    synced: (resource: WatchedResource): void => {
      for (const verb of ['list', 'watch'] as const) answers.answered(verb, resource);
    },
    unusable: (resource: WatchedResource, error: unknown): void => {
      report('warn', `unusable ${resource}`, { error }, `One of the ${resource} cannot be used and is left out`);
    },
    tooMany: (resource: WatchedResource, count: number, limit: number): void => {
      const text = `There are ${count} ${resource}, more than ${limit}: ${insteadOfWatching[resource]}`;
      report('info', `many ${resource}`, { count, limit }, text);
    },
    ...createMemoryProblems(rateLimitedLog),
    node: (name: string, known: boolean, others: readonly string[]): void => {
      if (known) return void resolve('node', `There is a Node ${name} now`);
      const text = `There is no Node ${name}: no Pod is known to run here. Is NODE_NAME right?`;
      report('error', 'node', { nodes: others.slice(0, 5) }, text);
    },
    directory: (error: unknown): void => {
      if (error === undefined) return answers.shared.well('directory');
      const text = 'The shared directory does not answer: Pods of other nodes stay bare addresses meanwhile';
      answers.shared.report('directory', 'directory', 'warn', { error }, text);
    },
    felix: (felix: NodeFacts['felix']): void => {
      if (felix === undefined) return;
      if (felix.kind === 'unreadable' && felix.reason === 'forbidden')
        return answers.denied('get', 'felixconfigurations', '');
      answers.granted('get', 'felixconfigurations');
    },
    nodeCondition: (verb: 'list' | 'patch', refusal: Refusal | undefined): void => {
      const resource = verb === 'patch' ? 'nodes/status' : 'nodes';
      if (refusal === undefined) answers.answered(verb, resource, 'node condition');
      else answers.refused(verb, resource, refusal, 'node condition');
    },
    clock: (skew: Millis | undefined): void => {
      if (skew === undefined) return;
      if (Math.abs(skew) <= tolerableSkew)
        return void resolve('clock', "This node's clock agrees with the API server's again");
      const side = `${Math.round(Math.abs(skew) / 1000)} s ${skew > 0 ? 'ahead of' : 'behind'}`;
      const text = `This node's clock is ${side} the API server's: times and ages of Events are off by as much, and exporters may ignore them`;
      report('warn', 'clock', { skewSeconds: skew / 1000 }, text);
    },
    attempted: (attempt: Attempt): void => {
      const { verb, result, packets } = attempt;
      metrics.eventPacketsPublished.add(packets);
      metrics.eventWrites.add(1, { verb, result });
      counts[result === 'ok' ? 'eventsWritten' : 'eventWritesFailed']++;
      reportWrite(attempt);
    },
    abandoned: (reason: WriteResult | 'muted'): void => {
      metrics.eventsAbandoned.add(1, { reason });
      counts.eventsAbandoned++;
    },
  };
}

/** Totals since the start, of problems and written Events, for the log line of each minute. */
export interface ProblemCounts {
  eventsWritten: number;
  eventWritesFailed: number;
  eventsAbandoned: number;
  requestsFailed: number;
  recordsLost: number;
  bytesLost: number;
  watchRestarts: number;
  stateErrors: number;
}

export function noProblems(): ProblemCounts {
  return {
    eventsWritten: 0,
    eventWritesFailed: 0,
    eventsAbandoned: 0,
    requestsFailed: 0,
    recordsLost: 0,
    bytesLost: 0,
    watchRestarts: 0,
    stateErrors: 0,
  };
}

/**
 * Returns whether a request counts as failed. 403 and 404 are answers to a read: not every cluster has each kind and each right, and the
 * part that needs them reports it.
 */
export function isFailedRequest({ verb, code }: { verb: string; code: number }): boolean {
  if (verb === 'GET' && (code === 403 || code === 404)) return false;
  return code === 0 || code >= 400;
}

const deniers: Readonly<Record<`event denied by ${Denier}`, string>> = {
  'event denied by webhook': 'An admission webhook denies',
  'event denied by policy': 'A ValidatingAdmissionPolicy denies',
  'event denied by quota': 'A ResourceQuota has no room for',
  'event denied by admission': "The API server's admission denies",
};

const eventVerbs = { create: 'create', update: 'patch', read: 'get' } as const;

function createWriteReport(log: Log, { report }: RateLimitedLog, answers: ApiAnswers) {
  const { shared } = answers;
  return ({ verb, result, series, refusal }: Attempt): void => {
    const { kind, namespace = '', name } = series.finding.regarding;
    const about = { object: `${kind} ${namespace}/${name}`, answer: refusal?.message };
    const right = eventVerbs[verb];
    // Each Namespace is a subject, because a single one may be throttled (429) or have a failing webhook.
    const subject = `events of ${namespace}`;
    switch (result) {
      case 'ok':
        log.debug({ ...about, verb }, 'Event written');
        return answers.answered(right, 'events', subject);
      case 'forbidden':
        return answers.denied(right, 'events', refusal?.message ?? '', subject);
      case 'denied': {
        const problem = `event denied by ${denierOf(refusal as Refusal) ?? 'admission'}` as const;
        answers.answered(right, 'events', subject, problem);
        const text = `${deniers[problem]} an Event; it is tried again every ${humanDuration(retryDelays.denied)}, and counted on meanwhile`;
        return shared.report(problem, subject, 'error', about, text);
      }
      case 'failed': {
        // With this reason, admission or a webhook failed on the Event. A failure of the server itself has no reason.
        if (refusal?.reason !== 'InternalError') return answers.refused(right, 'events', refusal as Refusal, subject);
        const text = `The API server failed on an Event; it is tried again every ${humanDuration(retryDelays.failed)}`;
        return shared.report('event failed', subject, 'warn', about, text);
      }
      case 'throttled':
      case 'unauthorized':
      case 'unavailable':
        return answers.refused(right, 'events', refusal as Refusal, subject);
      case 'foreign':
        report(
          'error',
          'event foreign',
          about,
          "Others' Events have the names that an Event would have; it is given up",
        );
        return answers.answered(right, 'events', subject);
      case 'invalid':
        report('error', 'event invalid', about, 'The API server refuses an Event for good; it is given up');
        return answers.answered(right, 'events', subject);
      case 'terminating':
      case 'gone':
      case 'conflict':
        return answers.answered(right, 'events', subject);
      default:
        result satisfies never;
    }
  };
}

/** Notices with these keys end when the source reports `well`. */
const obstacles = ['missing', 'deleted', 'not-a-file', 'unreadable', 'read', 'failed', 'no-match'];

/** Reports problems: once in the log, and each time in the metrics. */
export interface Problems {
  readonly counts: ProblemCounts;
  readonly api: ApiProblems;
  /** A report of a source about its log. `name`: as in `sources`. */
  source: (name: string, notice: Notice) => void;
  lost: (source: string, loss: Loss) => void;
  readonly state: StateProblems;
  readonly audit: DeliveryReport;
  /** An incident is not a problem of this program, but deserves a log line. */
  incident: (change: IncidentChange) => void;
}

interface ProblemsOptions extends ApiAnswersOptions {
  counts: ProblemCounts;
}

export function createProblems(options: ProblemsOptions): Problems {
  const { log, metrics, rateLimitedLog, counts } = options;
  const { report, resolve } = rateLimitedLog;
  return {
    counts,
    api: createApiProblems(options, counts),
    source: (name: string, { level, key, text, of }: Notice): void => {
      const keyOf = (what: string): string => `source ${name} ${what}${of === undefined ? '' : ` ${of}`}`;
      const isOver = (obstacle: string): boolean => resolve(keyOf(obstacle), text);
      if (key === 'well' && obstacles.filter(isOver).length > 0) return;
      report(level, keyOf(key), { source: name }, text);
    },
    lost: (source: string, { count, unit, reason }: Loss): void => {
      if (unit === 'records') {
        metrics.lostRecords.add(count ?? 1, { source });
        counts.recordsLost += count ?? 1;
      } else {
        metrics.lostBytes.add(count ?? 1, { source });
        counts.bytesLost += count ?? 1;
      }
      report('warn', `lost ${source}`, { source, count, unit }, reason);
    },
    state: createStateProblems(options),
    audit: createAuditProblems(options),
    incident: ({ kind, incident: { code, failing, failures, quote, endedBy } }: IncidentChange): void => {
      const about = { code, failing, failures };
      if (kind === 'opened') log.warn({ ...about, quote }, `${code}: ${causeOf(code).title}`);
      else if (kind === 'closed') log.info({ ...about, endedBy }, `${code} is over: ${causeOf(code).title}`);
    },
  };
}
