import type { Api } from '../../../src/commands/doctor/api.ts';
import type { Ran } from '../../../src/commands/doctor/program.ts';
import type { System } from '../../../src/commands/doctor/system.ts';
import type { Answer } from '../../../src/kubernetes/connection.ts';
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

/** An API server that is asked and remembers it. */
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

/** Programs by their command line; others are not there. */
export function programs(outputs: Readonly<Record<string, string | Ran>>): System['run'] {
  return (program, args) => {
    const found = outputs[[program, ...args].join(' ')] ?? outputs[program];
    if (found === undefined) return Promise.resolve({ kind: 'missing' });
    return Promise.resolve(typeof found === 'string' ? { kind: 'done', output: found } : found);
  };
}

/** A node at nine where nothing is. */
export function fakeSystem(given: Partial<System> = {}): System {
  return {
    now: () => nine,
    run: programs({}),
    get: () => Promise.resolve({ error: 'connect ECONNREFUSED 127.0.0.1:9090' }),
    readFile: () => undefined,
    choose: () => ({ source: undefined, isCertain: false, text: "the kernel's log is nowhere to be read" }),
    findJournal: () => ({ reason: 'there is no journalctl in this image' }),
    lookAtContainers: () => ({ kind: 'missing' }),
    findPrograms: () => [],
    lookAtProgramLog: (path) => ({ kind: 'missing', reason: `${path} is not there` }),
    lookAtFolder: () => ({ kind: 'writable', free: 1e9 }),
    readKeptState: () => ({ kind: 'none' }),
    lookAtNetwork: () => Promise.resolve('initial'),
    ...given,
  };
}
