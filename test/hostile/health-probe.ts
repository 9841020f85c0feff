/**
 * Requests /healthz every 50 ms, whether the last answer has come or not, in a process of its own with a higher
 * priority. On a loaded machine, an answer may be late because other processes have the processor. The time that the
 * agent itself took is the greater of two: how long its threads have worked since the request, limited to what its
 * first thread can have taken; and the time during which none of its threads was waiting for a processor.
 */
import { get } from 'node:http';
import { constants } from 'node:os';
import type { Millis } from '../../src/base/model/log-line.ts';
import { setPrecedence } from './precedence.ts';
import { type ThreadTimes, threadTimesOf } from './run-queue.ts';

/** Orders to the probe. Without an agent it pauses; with `end` it sends its measurements and ends. */
export type ProbeOrder = { readonly address: string; readonly pid: number } | 'pause' | 'end';

export interface Answer {
  /** Since the epoch. */
  readonly at: Millis;
  /** The time that a client sees. */
  readonly raw: Millis;
  /** The agent's own part of that time. */
  readonly own: Millis;
  readonly answered: boolean;
}

const every: Millis = 50;
/** The timeout of the DaemonSet's probes. */
const timeout: Millis = 5000;

/** The kernel adds up the time of a running thread at each of its ticks. */
const resolution: Millis = 4;

const answers: Answer[] = [];
let target: { address: string; pid: number } | undefined;
setPrecedence(process.pid, constants.priority.PRIORITY_HIGHEST);

process.on('message', (order: ProbeOrder) => {
  if (order === 'end') process.send?.(answers, () => process.exit());
  else target = order === 'pause' ? undefined : order;
});
process.on('disconnect', () => process.exit());
setInterval(() => {
  if (target !== undefined) ask(target);
}, every);

function ask(asked: { address: string; pid: number }): void {
  const began = performance.now();
  const before = timesOf(asked.pid);
  const done = (outcome: 'answered' | 'late' | 'refused'): void => {
    const raw = performance.now() - began;
    const after = timesOf(asked.pid);
    // An agent that was killed in the meantime, or has ended, is not judged here: another check finds that it has
    // ended.
    if (target !== asked || before === undefined || after === undefined) return;
    const since = (of: keyof ThreadTimes): Millis => after[of] - before[of];
    const ofFirst = Math.min(raw - since('firstWaited'), since('worked') + resolution);
    const own = Math.max(0, ofFirst, raw - since('allWaited'));
    answers.push({ at: Date.now(), raw, own: outcome === 'refused' ? timeout : own, answered: outcome === 'answered' });
  };
  const request = get(`http://${asked.address}/healthz`, { agent: false, timeout }, (response) => {
    response.resume().once('end', () => done(response.statusCode === 200 ? 'answered' : 'refused'));
  });
  let isLate = false;
  request.once('timeout', () => {
    isLate = true;
    request.destroy();
  });
  request.once('error', () => done(isLate ? 'late' : 'refused'));
}

/** The times of the agent, with this process's own waiting time added to its waits. */
function timesOf(pid: number): ThreadTimes | undefined {
  const [agent, probe] = [threadTimesOf(pid), threadTimesOf(process.pid)];
  if (agent === undefined || probe === undefined) return undefined;
  const { firstWaited, allWaited, worked } = agent;
  return { firstWaited: firstWaited + probe.firstWaited, allWaited: allWaited + probe.firstWaited, worked };
}
