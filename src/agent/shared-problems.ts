import type { Millis } from '../model/log-line.ts';
import type { Fields } from '../telemetry/logger.ts';
import type { RateLimitedLog } from '../telemetry/rate-limited-log.ts';

/** Problems that many subjects can have: logged when the first has one, and as over when none has had it for a while. */
export interface SharedProblems {
  /** `subject`: a kind of object that is read (`pods`), Events and their namespace, or the shared directory. */
  report: (problem: Problem, subject: string, level: 'error' | 'warn' | 'info', fields: Fields, text: string) => void;
  /** The API server has done what was asked of it for that subject; `but` is still a problem. */
  well: (subject: string, but?: Problem) => void;
  has: (problem: Problem, subject: string) => boolean;
  isThere: (problem: Problem) => boolean;
  /** It was reported, and not yet as over. */
  isOpen: (problem: Problem) => boolean;
  /** Logs the ends of those that nothing has had for a while; asked now and then. */
  settle: () => void;
}

/** A server that refuses now and then has one problem, which is not over with each request that it takes. */
const quietFor: Millis = 20_000;

const endings = {
  'api server': 'The API server answers again',
  throttled: 'The API server throttles us no longer',
  token: 'The API server accepts our token again',
  silence: 'What is watched is heard of again',
  directory: 'The shared directory answers again',
  'event failed': 'The API server fails on Events no longer',
  'event denied by webhook': 'Events are written again that an admission webhook denied',
  'event denied by policy': 'Events are written again that a ValidatingAdmissionPolicy denied',
  'event denied by quota': 'Events are written again that a ResourceQuota had no room for',
  'event denied by admission': "Events are written again that the API server's admission denied",
} as const;

export type Problem = keyof typeof endings;

const problems = Object.keys(endings) as Problem[];

export function createSharedProblems({ report, resolve }: RateLimitedLog, now: () => Millis): SharedProblems {
  const affected = new Map(problems.map((problem) => [problem, new Set<string>()]));
  const reported = new Map<Problem, Millis>();
  return {
    report(problem, subject, level, fields, text) {
      affected.get(problem)?.add(subject);
      reported.set(problem, now());
      report(level, problem, fields, text);
    },
    well(subject, but) {
      for (const [problem, subjects] of affected) if (problem !== but) subjects.delete(subject);
    },
    has: (problem, subject) => affected.get(problem)?.has(subject) ?? false,
    isOpen: (problem) => reported.has(problem),
    isThere: (problem) => (affected.get(problem)?.size ?? 0) > 0,
    settle() {
      for (const [problem, at] of reported) {
        if ((affected.get(problem)?.size ?? 0) > 0 || now() - at < quietFor) continue;
        reported.delete(problem);
        resolve(problem, endings[problem]);
      }
    },
  };
}
