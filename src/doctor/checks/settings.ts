import type { Config, SourceSetting } from '../../config.ts';
import { type Check, ok, problem, warning } from '../check.ts';

/** `problems`: as `readConfig` tells them. What is wrong is left out by the other checks, and its default used. */
export function checkSettings(config: Config, problems: readonly string[], warnings: readonly string[]): Check {
  if (problems.length > 0)
    return problem(
      'settings',
      problems.join('; '),
      'correct it: with this, run ends with exit status 2. The other lines go by the defaults',
    );
  if (warnings.length > 0) return warning('settings', warnings.join('; '), 'nothing is broken; change it when you can');
  return ok('settings', `can be used: node ${config.node}, sources ${config.sources.map(sourceName).join(', ')}`);
}

/** As it is set. */
export function sourceName(setting: SourceSetting): string {
  if (setting.kind === 'file') return `file:${setting.path}`;
  return setting.kind === 'journal' && setting.directory !== undefined ? `journal:${setting.directory}` : setting.kind;
}
