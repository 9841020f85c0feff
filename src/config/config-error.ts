import { printable } from '../platform/printable.ts';

/** A person reads no more, and what a file of nothing but mistakes costs is bounded. */
const most = 25;

/** What is wrong, put into words when it is to be told: a file may hold more mistakes than anybody reads. */
export type Problem = () => string;

/** Settings that cannot be followed; all of them at once. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly Problem[]) {
    const told = problems.slice(0, most).map((problem) => printable(problem()));
    if (problems.length > most) told.push(`and ${problems.length - most} more`);
    super(told.join('\n'));
    this.problems = told;
  }
}
