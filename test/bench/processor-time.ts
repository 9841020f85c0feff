import { readdirSync, readFileSync } from 'node:fs';

/** The processor time of a process so far, to the nanosecond; proc(5) `stat` has hundredths of a second. */
export interface ProcessorTime {
  seconds: number;
  /** The number of times that one of its threads went to sleep, so about as often one was woken. */
  sleeps: number;
}

/** Adds up all its threads, without those that have ended. */
export function processorTimeOf(pid: number): ProcessorTime {
  const sum = { seconds: 0, sleeps: 0 };
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const read = (file: string): string => readFileSync(`/proc/${pid}/task/${task}/${file}`, 'latin1');
    sum.seconds += Number(read('schedstat').split(' ')[0]) / 1e9;
    sum.sleeps += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(read('status'))?.[1]);
  }
  return sum;
}

/** Processes that it started and that run. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
