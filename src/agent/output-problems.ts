/** Reports problems of outputs: the state on disk, and flow records. */
import type { Clock } from '../base/platform/clock.ts';
import type { DeliveryReport } from '../publish/audit/audit.ts';
import type { StateReport } from '../publish/state/state.ts';
import type { RateLimitedLog } from './telemetry/logger.ts';
import type { Metrics } from './telemetry/metrics.ts';

interface OutputProblemsOptions {
  metrics: Metrics;
  rateLimitedLog: RateLimitedLog;
  counts: { stateErrors: number };
  clock: Pick<Clock, 'wall'>;
}

/** The state on disk. */
export interface StateProblems extends StateReport {
  /** The state of an earlier run. */
  unreadable: (problem: string) => void;
}

export function createStateProblems({ metrics, rateLimitedLog, counts, clock }: OutputProblemsOptions): StateProblems {
  const { report, resolve } = rateLimitedLog;
  const countError = (operation: 'load' | 'save' | 'lost'): void => {
    metrics.stateErrors.add(1, { operation });
    counts.stateErrors++;
  };
  return {
    unreadable(problem) {
      countError('load');
      report('error', 'state load', {}, problem);
    },
    saved(bytes) {
      metrics.stateSaved.set(clock.wall() / 1000);
      metrics.stateSize.set(bytes);
      resolve('state save', 'Positions and counts are kept on disk again');
      resolve('state lost', 'All of the state is on disk again');
    },
    failed(error) {
      countError('save');
      const text =
        'Positions and counts cannot be kept on disk: if this program is killed now, packets may be counted twice or not at all';
      report('error', 'state save', { error }, text);
    },
    lost(reason) {
      countError('lost');
      const text = `The saved state is no longer as the agent wrote it: ${reason}. All of it is written again`;
      report('error', 'state lost', {}, text);
    },
  };
}

export function createAuditProblems({
  metrics,
  rateLimitedLog: { report, resolve },
}: Pick<OutputProblemsOptions, 'metrics' | 'rateLimitedLog'>): DeliveryReport {
  return {
    failed(sink, error) {
      metrics.auditAttempts.add(1, { sink, result: 'failed' });
      report('warn', `audit ${sink}`, { sink, error }, 'Flow records cannot be sent; they wait in the queue');
    },
    sent(sink, rows, refused) {
      metrics.auditAttempts.add(1, { sink, result: 'ok' });
      metrics.auditRows.add(rows - refused, { sink, result: 'sent' });
      metrics.auditRows.add(refused, { sink, result: 'refused' });
      resolve(`audit ${sink}`, `audit ${sink}: flow records are sent again`);
      if (refused > 0)
        report('error', `audit ${sink} refused`, { sink, refused }, 'The receiver refused flow records for good');
    },
  };
}
