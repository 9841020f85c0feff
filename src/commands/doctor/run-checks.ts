import type { Millis } from '../../model/log-line.ts';
import { answersOf, type Check } from './check.ts';

/** One check, or several that share what they look at. */
export interface Task {
  /** Of the result, should there be none in time. */
  name: string;
  run: () => Promise<Check | readonly Check[]>;
}

export interface RunChecksOptions {
  tasks: readonly Task[];
  timeout: Millis;
  /** Calls once, `delay` from now; returns how to call it off. */
  schedule: (task: () => void, delay: Millis) => () => void;
}

/** Runs all at once; results come in the order of the tasks. Never rejects: what fails or takes too long is `unknown`. */
export async function runChecks({ tasks, timeout, schedule }: RunChecksOptions): Promise<Check[]> {
  const results = await Promise.all(tasks.map(runOne));
  return results.flat();

  async function runOne({ name, run }: Task): Promise<Check | readonly Check[]> {
    const { unknown } = answersOf(name);
    const { promise: late, resolve } = Promise.withResolvers<Check>();
    const cancel = schedule(
      () =>
        resolve(
          unknown(`no result within ${timeout / 1000} s`, 'run doctor again; if it stays, the system is overloaded'),
        ),
      timeout,
    );
    try {
      return await Promise.race([run(), late]);
    } catch (error) {
      return unknown(`the check itself failed: ${messageOf(error)}`, 'please report this as a defect of doctor');
    } finally {
      cancel();
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
