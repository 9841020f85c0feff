import { parseArgs } from 'node:util';
import { type Config, ConfigError, readConfig, settings } from '../config.ts';
import { UsageError } from './usage-error.ts';

export const runHelp = `Usage: kube-netfilter-tailer run [OPTION...]

The agent of one node: reads its logs and writes Events on the Pods whose packets are dropped. Runs until it gets SIGTERM.

Each option can be set in the environment instead.

${Object.values(settings)
  .map((setting) => {
    const { flag, env, value, help } = setting;
    const preset = 'default' in setting && setting.default !== '' ? `. Default: ${setting.default}` : '';
    const repeat = 'list' in setting ? '; may be repeated' : '';
    return `  --${flag} ${value}${env === '' ? '' : `  (${env})`}\n      ${help}${repeat}${preset}\n`;
  })
  .join('')}
Exit status
  0  stopped in good order
  1  nothing can be read, or the program itself failed
  2  a setting is wrong
`;

/** Reads the arguments after `run`, and the environment. Throws a `UsageError` that lists all that is wrong. */
export function readRunOptions(args: string[], env?: NodeJS.ProcessEnv): Config | 'help' {
  try {
    const options = Object.fromEntries(
      Object.values(settings).map((setting) => [
        setting.flag,
        { type: 'string', multiple: 'list' in setting } as const,
      ]),
    );
    const { values } = parseArgs({ args, options: { ...options, help: { type: 'boolean', short: 'h' } } });
    if (values.help) return 'help';
    return readConfig(values as Record<string, string | string[]>, env);
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.problems, 'run');
    throw new UsageError([(error as Error).message.replace(/\. To specify a positional.*$/s, '')], 'run');
  }
}
