/** Help and options of `run`. */
import { type LoadedConfig, loadConfig } from '../../config/config.ts';
import { readSettingOptions, settingsHelp } from './setting-options.ts';

export const runHelp = `Usage: kube-netfilter-tailer run [OPTION...]

The agent of one node: reads its logs and writes Events on the Pods whose packets are dropped. Runs until it gets SIGTERM.

Each option can be set in the environment or in a file instead. Precedence: option, variable, file.
"kube-netfilter-tailer config print --effective" shows the settings in force, and where each is from.

${settingsHelp}
Exit status
  0  stopped in good order
  1  nothing can be read, or the program itself failed
  2  a setting is wrong
`;

/** Reads the arguments after `run`, and the environment. Throws a `UsageError` that lists all that is wrong. */
export function readRunOptions(args: readonly string[], env?: NodeJS.ProcessEnv): LoadedConfig | 'help' {
  const read = readSettingOptions(args, 'run', {}, (flags) => loadConfig({ flags, env }));
  return read === 'help' ? 'help' : read.loaded;
}
