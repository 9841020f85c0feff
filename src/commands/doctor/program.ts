import { execFile } from 'node:child_process';
import type { Millis } from '../../model/log-line.ts';

/** How a program ended. */
export type Ran = { kind: 'done'; output: string } | { kind: 'missing' } | { kind: 'failed'; reason: string };

/** Runs a program of the search path that changes nothing. Never rejects. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<Ran>;

/** Less than a check may take, so that the check can name the slow program. */
const timeout: Millis = 4000;
/** A ruleset of a busy node with kube-proxy in iptables mode has some 20 MB. */
const maxOutput = 64 * 1024 * 1024;

export const runProgram: RunProgram = (program, args) => {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const options = { timeout, killSignal: 'SIGKILL', maxBuffer: maxOutput, encoding: 'latin1' } as const;
  execFile(program, args, options, (error, output, errors) => {
    if (error === null) return resolve({ kind: 'done', output });
    if (error.code === 'ENOENT') return resolve({ kind: 'missing' });
    if (error.killed === true) return resolve({ kind: 'failed', reason: 'it did not end in time' });
    const [first = ''] = errors.trim().split('\n');
    resolve({ kind: 'failed', reason: first === '' ? error.message : first });
  });
  return promise;
};
