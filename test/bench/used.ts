import { readdirSync, readFileSync } from 'node:fs';

/**
 * The processor time of a process so far in seconds, exact to the nanosecond; proc(5) `stat` has only hundredths of a
 * second. Adds up its threads, except those that have ended.
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

/** The usage of a process since its start. */
export interface Used {
  /** User and system time. */
  cpuSeconds: number;
  /** Pages that had to be read from a disk. */
  majorFaults: number;
  residentBytes: number;
  /** Memory that is not backed by a file, so the kernel cannot give it to another process. */
  anonymousBytes: number;
  /** Peak resident memory. */
  peakBytes: number;
}

/** Reads the use of a process that runs; throws when it has ended. */
export function usedBy(pid: number): Used {
  // proc(5): field 12 is majflt; fields 14 and 15 are times in hundredths of a second. Field 2 is the name, which may
  // contain spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /, '')
    .split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  if (fields[0] === 'Z') throw new Error(`the process ${pid} has ended`);
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
    majorFaults: Number(fields[9]),
    residentBytes: kilobytes('VmRSS') * 1024,
    anonymousBytes: kilobytes('RssAnon') * 1024,
    peakBytes: kilobytes('VmHWM') * 1024,
  };
}
