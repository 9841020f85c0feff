/** Evaluates policies for drops. They are read only for the message of an Event, never for a packet or a row of the audit. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  askedOf,
  foundAnswer,
  type KnownPolicies,
  policyAnswer,
  policyFacts,
  policyNeeds,
  type PolicyNeeds,
} from '../../explain/drops/drops.ts';
import {
  type Connection,
  createPolicyReader,
  type ListReport,
  isAllowed,
  policiesFile,
  RefusedError,
} from '../kubernetes/kubernetes.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Finding } from '../../base/model/finding.ts';
import { connectFailure } from '../../base/model/packet.ts';
import type { PolicyAnswer, PolicyFacts, PolicyVerdict } from '../../base/model/policy-answer.ts';
import type { Series } from '../../base/model/series.ts';
import type { Clock } from '../../base/platform/clock.ts';
import { createCooldown } from '../../base/platform/rates.ts';
import { type MemoryBudget, unlimitedMemory } from '../../base/platform/memory-budget.ts';
import type { Log, RateLimitedLog } from '../telemetry/logger.ts';
import { createPolicyObjects, freshFor, type PolicyKnowledge, type PolicyObjectsOptions } from './objects.ts';
import { type Clocks, createVerdictTime, type InShareOf, systemClocks, type VerdictTime } from './verdict-time.ts';

export interface PolicyAnswersOptions {
  readonly connection: Pick<Connection, 'request'>;
  readonly ownPod?: PolicyObjectsOptions['ownPod'];
  readonly log: Pick<Log, 'info'>;
  readonly rateLimitedLog: Pick<RateLimitedLog, 'report' | 'resolve'>;
  readonly clock: Pick<Clock, 'now' | 'toWall'>;
  readonly memory?: MemoryBudget;
  /** How long an Event waits at most. Its next write contains an answer that came later. */
  readonly longestWait?: Millis;
  /** The same until policies were read for the first time. */
  readonly firstWait?: Millis;
  readonly verdictClocks?: Clocks;
}

export interface PolicyAnswers {
  /** Returns undefined if policies have no part in the drop, too little is known in time, or its Namespace has used up its share. Never rejects. */
  answerOn: (series: Series) => Promise<PolicyVerdict | undefined>;
  /** Reads the objects that a verdict needs. Resolves after a limited time, and never rejects. `last`: when the packet was dropped. */
  prepare: (finding: Finding, last: Millis) => Promise<void>;
  /** Returns the verdict at once, if it is known; undefined in the same cases as `answerOn`. */
  evaluate: (finding: Finding, last: Millis) => PolicyAnswer | undefined;
  /** Answers at once, with policies that were read for Events. `first`: the time of the first drop. Never throws. */
  factsOn: (findings: readonly Finding[], first: Millis) => PolicyFacts | undefined;
}

/** After an Event has waited without an answer, no Event of its Namespace waits for this time; after Events of `most` Namespaces, no Event at all. */
const noWait = { for: 10_000, most: 8 };

/** How long a denial is still reported if nothing newer can be read. */
const usableForEvents: Millis = 600_000;

/** For an Event that continues, policies are read every fifteen minutes, and rows in between get the same verdict. */
const usableForRows: Millis = 1_200_000;

/** The parts of the time for verdicts of Events and of rows. */
const parts = { events: 0.02, rows: 0.01 };

export function createPolicyAnswers({
  connection,
  ownPod,
  log,
  rateLimitedLog,
  clock,
  memory = unlimitedMemory(),
  longestWait = 2000,
  firstWait = 10_000,
  verdictClocks = systemClocks,
}: PolicyAnswersOptions): PolicyAnswers {
  const rights = createPolicyRights(connection, log, clock.now);
  const reader = createPolicyReader(connection, clock.now, createListReport(rateLimitedLog), memory);
  const objects = createPolicyObjects({ reader, ownPod, onFailed: rights.failed, now: clock.now, memory });
  const knownFor = createKnownFor(objects);
  const patiently = createWaitLimit({ clock, longestWait, firstWait });
  const timed = createTimed(rateLimitedLog);
  const forEvents = createVerdictTime(parts.events, verdictClocks);
  const forRows = createVerdictTime(parts.rows, verdictClocks);

  return {
    async answerOn(this: void, series: Series): Promise<PolicyVerdict | undefined> {
      const { last } = series;
      const finding = askedOf(series);
      return foundAnswer(finding)?.verdict ?? (await readAnswer(finding, last))?.verdict;
    },
    prepare,
    evaluate,
    factsOn(this: void, findings: readonly Finding[], first: Millis): PolicyFacts | undefined {
      const now = clock.now();
      let readAt: Millis = -Infinity;
      const policiesFor = (finding: Finding, inShareOf: InShareOf): KnownPolicies | undefined => {
        const needs = policyNeeds(finding);
        const known = needs && knownFor(finding, needs, now - usableForRows, inShareOf);
        if (known === undefined) return undefined;
        readAt = known.at;
        return known.policies;
      };
      const [finding] = findings;
      const found = foundAnswer(finding);
      if (found !== undefined) return found.facts;
      const facts =
        finding &&
        timed(forRows, askerOf(finding), (inShareOf) => policyFacts(findings, (each) => policiesFor(each, inShareOf)));
      return facts?.verdict === 'denied' || readAt >= first ? facts : undefined;
    },
  };

  async function readAnswer(finding: Finding, last: Millis): Promise<PolicyAnswer | undefined> {
    const now = clock.now();
    await prepare(finding, last);
    return evaluate(finding, last, now);
  }

  async function prepare(this: void, finding: Finding, last: Millis): Promise<void> {
    const needs = policyNeeds(finding);
    if (needs === undefined) return;
    const now = clock.now();
    const since = { policies: sinceFor(last, now), pods: now - freshFor };
    await patiently(askerOf(finding), read(finding, needs, since));
  }

  function evaluate(this: void, finding: Finding, last: Millis, now = clock.now()): PolicyAnswer | undefined {
    const needs = policyNeeds(finding);
    if (needs === undefined) return undefined;
    return timed(forEvents, askerOf(finding), (inShareOf) => {
      const known = knownFor(finding, needs, usableSince(finding, last, now), inShareOf);
      const answer = known && policyAnswer(finding, known.policies, clock.toWall(last));
      // Older policies may admit what a new policy denies.
      return answer?.verdict.outcome === 'denies' || (known !== undefined && known.at >= sinceFor(last, now))
        ? answer
        : undefined;
    });
  }

  async function read(finding: Finding, needs: PolicyNeeds, since: { policies: Millis; pods: Millis }): Promise<void> {
    if (!(await rights.granted())) return;
    const asker = askerOf(finding);
    await objects.refresh(needs, since, asker);
    const known = timed(forEvents, asker, (inShareOf) => objects.known(finding, needs, inShareOf));
    const { required } = known ?? { required: [] };
    await Promise.all(required.map((each) => objects.refreshRequired(each, since.policies, asker)));
  }
}

type KnownFor = (
  finding: Finding,
  needs: PolicyNeeds,
  since: Millis,
  inShareOf: InShareOf,
) => PolicyKnowledge | undefined;

function createKnownFor(objects: ReturnType<typeof createPolicyObjects>): KnownFor {
  return (finding, needs, since, inShareOf) => {
    const known = objects.known(finding, needs, inShareOf);
    return known === undefined || known.at < since ? undefined : known;
  };
}

/** Policies that were read before the packet may lack the one that denied it. */
function sinceFor(last: Millis, now: Millis): Millis {
  return Math.max(Math.min(last, now), now - freshFor);
}

/** A dropped packet is certain. A policy as the cause of a failed connection is not, so the policy must have existed at about that time. */
function usableSince({ details }: Finding, last: Millis, now: Millis): Millis {
  const isFailure = details.kind === 'flow' && details.logger === connectFailure;
  return isFailure ? Math.min(last, now) - freshFor : now - usableForEvents;
}

/** Evaluates in the Namespace's share of the time. Catches errors, because a fault in the evaluation must not prevent the Event or the row. */
function createTimed({ report }: Pick<RateLimitedLog, 'report'>) {
  return <T>(time: VerdictTime, asker: string, evaluate: (inShareOf: InShareOf) => T | undefined): T | undefined => {
    try {
      return time(asker, evaluate);
    } catch (error) {
      const text = 'What policies say of a drop could not be found out; please report this';
      report('warn', 'policy evaluation', { error }, text);
      return undefined;
    }
  };
}

/** The Namespace whose shares of look-ups and time a verdict uses: the one of the Event's Pod. */
function askerOf({ regarding }: Finding): string {
  return regarding.namespace ?? '';
}

function createWaitLimit({
  clock,
  longestWait,
  firstWait,
}: Required<Pick<PolicyAnswersOptions, 'clock' | 'longestWait' | 'firstWait'>>): (
  asker: string,
  reading: Promise<void>,
) => Promise<void> {
  const inVain = createCooldown<string>(noWait.for, clock.now);
  /** The first time takes longest, because rights and kinds are also asked for. If a flow has no second packet, its Event has no next write. */
  let isFirst = true;
  return async (asker, reading) => {
    const read = reading.then(() => {
      isFirst = false;
      return false;
    });
    if (inVain.has(asker) || inVain.size >= noWait.most) return;
    const timer = new AbortController();
    const late = delay(isFirst ? firstWait : longestWait, true, { signal: timer.signal }).catch(() => false);
    if (await Promise.race([read, late])) inVain.add(asker);
    timer.abort();
  };
}

export function createListReport({ report, resolve }: Pick<RateLimitedLog, 'report' | 'resolve'>): ListReport {
  return ({ plural, namespace, isTooLarge }) => {
    const what = `${plural}${namespace === undefined ? '' : ` of Namespace ${namespace}`}`;
    if (!isTooLarge) {
      resolve(`large ${what}`, `All ${what} are small enough to be evaluated again`);
      return;
    }
    const text = `Some or all ${what} are too large for the memory and are not evaluated: of Pods that they may be about, Events do not say which policy denied a packet. Delete what is not needed of them, raise the memory limit, or set POLICIES=off`;
    report('warn', `large ${what}`, { resource: plural, namespace }, text);
  };
}

const askRightsEvery: Millis = 600_000;

const missing = `Events do not say which policy denied a packet: the right to list networkpolicies is missing. Apply ${policiesFile}, or set POLICIES=off`;

export interface PolicyRightsCheck {
  granted: () => Promise<boolean>;
  failed: (error: unknown) => void;
}

export function createPolicyRights(
  connection: Pick<Connection, 'request'>,
  log: Pick<Log, 'info'>,
  now: () => Millis,
): PolicyRightsCheck {
  let known: { granted: boolean; at: Millis } | undefined;
  let asking: Promise<boolean> | undefined;

  return {
    granted: async (): Promise<boolean> => {
      if (known?.granted === true) return true;
      if (known !== undefined && now() - known.at < askRightsEvery) return false;
      return await (asking ??= ask().finally(() => (asking = undefined)));
    },
    failed: (error: unknown): void => {
      if (error instanceof RefusedError && error.refusal.status === 403) learn(false);
    },
  };

  async function ask(): Promise<boolean> {
    const granted = await isAllowed(connection, 'list', 'networkpolicies', 'networking.k8s.io');
    if (granted !== undefined) learn(granted);
    return granted ?? false;
  }

  function learn(granted: boolean): void {
    if (granted && known?.granted === false)
      log.info({}, 'Policies can be listed now: Events say which one denied a packet');
    if (!granted && known?.granted !== false) log.info({}, missing);
    known = { granted, at: now() };
  }
}
