import { causeOf, type IncidentChange } from '../incidents/incidents.ts';
import type { Loss, Notice } from '../sources/sources.ts';
import { createApiProblems, type ProblemCounts } from './api-problems.ts';
import type { ApiAnswersOptions } from './api-answers.ts';

/** Keys of notices whose end is the notice `well`. */
const obstacles = ['missing', 'deleted', 'not-a-file', 'unreadable', 'read', 'failed', 'no-match'];

/** Reports problems: once in the log, each time in the metrics. */
export type Problems = ReturnType<typeof createProblems>;

export function createProblems(options: ApiAnswersOptions & { counts: ProblemCounts }) {
  const { log, metrics, rateLimitedLog, counts, clock } = options;
  const { report, resolve } = rateLimitedLog;
  const countStateError = (operation: 'load' | 'save' | 'lost'): void => {
    metrics.stateErrors.add(1, { operation });
    counts.stateErrors++;
  };
  return {
    counts,
    api: createApiProblems(options, counts),
    source: (name: string, { level, key, text }: Notice): void => {
      const isOver = (obstacle: string): boolean => resolve(`source ${name} ${obstacle}`, text);
      if (key === 'well' && obstacles.filter(isOver).length > 0) return;
      report(level, `source ${name} ${key}`, { source: name }, text);
    },
    lost: (source: string, { count, unit, reason }: Loss): void => {
      if (unit === 'records') {
        metrics.lostRecords.add(count ?? 1, { source });
        counts.recordsLost += count ?? 1;
      } else {
        metrics.lostBytes.add(count ?? 0, { source });
        counts.bytesLost += count ?? 0;
      }
      report('warn', `lost ${source}`, { source, count, unit }, reason);
    },
    state: {
      unreadable(problem: string): void {
        countStateError('load');
        report('error', 'state load', {}, problem);
      },
      saved(bytes: number): void {
        metrics.stateSaved.set(clock.wall() / 1000);
        metrics.stateSize.set(bytes);
        resolve('state save', 'Positions and counts are kept on disk again');
        resolve('state lost', 'All of the state is on disk again');
      },
      failed(error: unknown): void {
        countStateError('save');
        const text =
          'Positions and counts cannot be kept on disk: if this program is killed now, packets may be counted twice or not at all';
        report('error', 'state save', { error }, text);
      },
      lost(reason: string): void {
        countStateError('lost');
        const text = `What was kept on disk is no longer as it was written: ${reason}. All of it is written again`;
        report('error', 'state lost', {}, text);
      },
    },
    audit: {
      failed(sink: string, error: unknown): void {
        metrics.auditAttempts.add(1, { sink, result: 'failed' });
        report('warn', `audit ${sink}`, { sink, error }, 'Flow records cannot be sent; they wait in the queue');
      },
      sent(sink: string, rows: number, refused: number): void {
        metrics.auditAttempts.add(1, { sink, result: 'ok' });
        metrics.auditRows.add(rows - refused, { sink, result: 'sent' });
        metrics.auditRows.add(refused, { sink, result: 'refused' });
        resolve(`audit ${sink}`, `audit ${sink}: flow records are sent again`);
        if (refused > 0)
          report('error', `audit ${sink} refused`, { sink, refused }, 'The receiver refused flow records for good');
      },
    },
    /** Incidents are no problem of this program, but worth a line. */
    incident: ({ kind, incident: { code, failing, failures, quote, endedBy } }: IncidentChange): void => {
      const about = { code, failing, failures };
      if (kind === 'opened') log.warn({ ...about, quote }, `${code}: ${causeOf(code).title}`);
      else if (kind === 'closed') log.info({ ...about, endedBy }, `${code} is over: ${causeOf(code).title}`);
    },
  };
}
