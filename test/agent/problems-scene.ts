import { createProblems, noProblems } from '../../src/agent/problems.ts';
import type { Refusal } from '../../src/publish/events/event-writer.ts';
import { createRateLimitedLog } from '../../src/agent/telemetry/logger.ts';
import { createMetrics } from '../../src/agent/telemetry/metrics.ts';
import { nine } from '../builders.ts';
import { fakeLog } from './telemetry/fake-log.ts';

/** Problems of an agent with a clock that is set by hand, and their log. */
export function createProblemsScene(isListed: () => boolean = () => true) {
  const clock = { now: nine };
  const { log, entries } = fakeLog();
  const metrics = createMetrics({ version: '1' });
  const problems = createProblems({
    log,
    rateLimitedLog: createRateLimitedLog(log, { now: () => nine }),
    metrics,
    counts: noProblems(),
    clock: { now: () => clock.now, wall: () => clock.now },
    server: () => 'https://api',
    isListed,
  });
  return { problems, entries, metrics, clock };
}

export function refused(status: number, message: string): Refusal {
  return { kind: 'refused', status, reason: '', message, retryAfter: undefined };
}
