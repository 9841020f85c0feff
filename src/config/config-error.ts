/** The error of wrong settings, which lists all that is wrong. */
import { printable } from '../platform/printable.ts';

/** A user reads no more, and what a file of nothing but mistakes costs is bounded. */
const most = 25;

/** What is wrong, put into words only when it is shown: a file may hold more mistakes than a user reads. */
export type Problem = () => string;

export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly Problem[]) {
    const shown = problems.slice(0, most).map((problem) => printable(problem()));
    if (problems.length > most) shown.push(`and ${problems.length - most} more`);
    super(shown.join('\n'));
    this.problems = shown;
  }
}
