import type { Config, SourceSetting } from '../../../config/config.ts';
import { answersOf, type Check } from '../check.ts';

/** Of the problems that fit in a line. */
const most = 4;

/** `problems`: as `loadUsableConfig` returns them. What is wrong is left out by the other checks, and its default used. */
export function checkSettings(config: Config, problems: readonly string[], warnings: readonly string[]): Check {
  const { ok, problem, warning } = answersOf('settings');
  if (problems.length > 0)
    return problem(
      inOneLine(problems),
      'correct it: with this, run ends with exit status 2; config print, with the same settings, says all. The other lines go by the defaults in its place',
    );
  if (warnings.length > 0) return warning(inOneLine(warnings), 'nothing is broken; change it when you can');
  return ok(`can be used: node ${config.node}, sources ${config.sources.map(sourceName).join(', ')}`);
}

export function inOneLine(problems: readonly string[]): string {
  const more = problems.length > most ? [`and ${problems.length - most} more`] : [];
  return [...problems.slice(0, most), ...more].join('; ');
}

export function sourceName(setting: SourceSetting): string {
  if (setting.kind === 'file') return `file:${setting.path}`;
  if (setting.kind === 'program') return `program:${setting.program}=${setting.path}`;
  return setting.kind === 'journal' && setting.directory !== undefined ? `journal:${setting.directory}` : setting.kind;
}
