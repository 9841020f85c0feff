import type { Outcome as Expected } from '../../docs/rules.ts';
import type { Outcome } from '../outcome.ts';

/** Matches what programs print about arguments that they do not know, and shells about programs that are not there. */
const misunderstanding =
  /unknown (?:flag|shorthand flag|command|option|argument)|unrecogni[sz]ed (?:option|argument)|(?:invalid|illegal) option|doesn't have a resource type|command not found|No such option/i;

/** Says what is wrong with how a command ended; `undefined` if it is as expected, which is exit status 0 by default. */
export function problemWith({ code, stdout, stderr }: Outcome, expected: Expected | undefined): string | undefined {
  const { exits = [0], prints } = expected ?? {};
  const printed = `\n${(stderr || stdout).trim().split('\n').slice(-6).join('\n')}`.replaceAll('\n', '\n    ');
  if (!exits.includes(code)) return `ended with ${code}, not with ${exits.join(' or ')}:${printed}`;
  if (misunderstanding.test(stderr)) return `was not understood:${printed}`;
  if (prints !== undefined && !prints.test(stdout) && !prints.test(stderr))
    return `printed nothing like ${prints}:${printed}`;
  return undefined;
}
