import type { Api } from '../../../src/cli/doctor/api.ts';
import type { Machine, RunResult } from '../../../src/cli/doctor/machine.ts';
import type { Answer } from '../../../src/agent/kubernetes/connection.ts';
import { nine } from '../../builders.ts';

export interface Request {
  verb: string;
  path: string;
  query: Readonly<Record<string, unknown>>;
  body: unknown;
}

export function answered(body: unknown): Answer {
  return { kind: 'answered', body: body as never };
}

export function refused(status: number, message = 'no'): Answer {
  return { kind: 'refused', status, reason: '', message, retryAfter: undefined };
}

/** An API server that records its requests. */
export function fakeApi(
  answer: (request: Request) => Answer | undefined,
  clockSkew: number | undefined = 300,
): Api & { asked: Request[] } {
  const asked: Request[] = [];
  return {
    server: 'https://api.example:6443',
    clockSkew,
    asked,
    request(verb, path, { query = {}, body } = {}) {
      const request = { verb, path, query, body };
      asked.push(request);
      return Promise.resolve(answer(request) ?? refused(404, 'not found'));
    },
  };
}

/** Programs by their command line; any other program is missing. */
export function programs(outputs: Readonly<Record<string, string | RunResult>>): Machine['run'] {
  return (program, args) => {
    const found = outputs[[program, ...args].join(' ')] ?? outputs[program];
    if (found === undefined) return Promise.resolve({ kind: 'missing' });
    return Promise.resolve(typeof found === 'string' ? { kind: 'done', output: found } : found);
  };
}

/** A node without anything, at nine o'clock. */
export function fakeMachine(given: Partial<Machine> = {}): Machine {
  return {
    now: () => nine,
    run: programs({}),
    readFile: () => undefined,
    choose: () => ({ source: undefined, isCertain: false, text: "the kernel's log is nowhere to be read" }),
    pickSource: (sources) => sources[0],
    findJournal: () => ({ reason: 'there is no journalctl in this image' }),
    findPrograms: () => [],
    lookAtNetwork: () => Promise.resolve('initial'),
    ...given,
  };
}
