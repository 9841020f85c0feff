import { readdirSync, readFileSync } from 'node:fs';

/**
 * The processor time of a process so far in seconds, to the nanosecond; proc(5) `stat` has hundredths of a second. Adds up all its threads,
 * without those that have ended.
 */
export function processorTimeOf(pid: number): number {
  const read = (task: string): string => readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1');
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => sum + Number(read(task).split(' ')[0]) / 1e9, 0);
}

/** Processes that it started and that run. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
