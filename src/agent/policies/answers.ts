/** What policies say of drops, for Events: they are read when a message is made, never for a packet. */
import { setTimeout as delay } from 'node:timers/promises';
import { policyNeeds, policyVerdict, type PolicyVerdict } from '../../drops/policy-verdict.ts';
import type { Connection } from '../../kubernetes/connection.ts';
import { createPolicyReader } from '../../kubernetes/policy-objects.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Series } from '../../model/series.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../telemetry/logger.ts';
import { createPolicyObjects } from './objects.ts';
import { createPolicyRights } from './rights.ts';

export interface PolicyAnswersOptions {
  readonly connection: Pick<Connection, 'request'>;
  readonly log: Pick<Log, 'info'>;
  readonly clock: Pick<Clock, 'now' | 'toWall'>;
  /** How long an Event waits at most; what comes later is there for its next write. */
  readonly longestWait?: Millis;
}

export interface PolicyAnswers {
  /** Undefined where policies have no part in it, or not enough is known in time. Never rejects. */
  readonly answerOn: (series: Series) => Promise<PolicyVerdict | undefined>;
}

/** After an Event has waited in vain, others do not wait. */
const impatience: Millis = 10_000;

/** What is older is read again, whenever the packet was. */
const oldest: Millis = 60_000;

/** Where nothing newer is to be had, that policies deny is still believed. */
const tooOld: Millis = 600_000;

export function createPolicyAnswers({
  connection,
  log,
  clock,
  longestWait = 2000,
}: PolicyAnswersOptions): PolicyAnswers {
  const rights = createPolicyRights({ connection, log, now: clock.now });
  const reader = createPolicyReader(connection, clock.now);
  const objects = createPolicyObjects({ reader, onFailed: rights.failed, now: clock.now });
  let impatientUntil: Millis = -Infinity;
  let hasFailed = false;

  return {
    async answerOn({ finding, last }) {
      const needs = policyNeeds(finding);
      if (needs === undefined) return undefined;
      const now = clock.now();
      const recent = now - oldest;
      // What was read before the packet may not have the policy that denied it.
      const since = Math.max(Math.min(last, now), recent);
      await patiently(
        rights
          .granted()
          .then((granted) => (granted ? objects.refresh(needs, { policies: since, pods: recent }) : undefined)),
      );
      const known = objects.known(needs);
      if (known === undefined || known.at < now - tooOld) return undefined;
      const answer = evaluated(() => policyVerdict(finding, known.policies, clock.toWall(last)));
      // By older ones, a packet that a new policy has denied would be admitted.
      return answer?.outcome === 'denies' || known.at >= since ? answer : undefined;
    },
  };

  /** A fault of the evaluation must not cost the Event. */
  function evaluated(evaluate: () => PolicyVerdict | undefined): PolicyVerdict | undefined {
    try {
      return evaluate();
    } catch (error) {
      if (!hasFailed) log.info({ error }, 'What policies say of a drop could not be found out; please report this');
      hasFailed = true;
      return undefined;
    }
  }

  async function patiently(reading: Promise<void>): Promise<void> {
    if (clock.now() < impatientUntil) return;
    const timer = new AbortController();
    const late = delay(longestWait, true, { signal: timer.signal }).catch(() => false);
    if (await Promise.race([reading.then(() => false), late])) impatientUntil = clock.now() + impatience;
    timer.abort();
  }
}
