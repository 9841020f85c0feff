/** The command `config`: prints the settings in force, or checks a config file. */
import { checkConfigFile, loadConfig } from '../../config/config.ts';
import { printJson, printYaml, withoutDefaults } from '../../config/effective.ts';
import { nearest } from '../../config/suggest.ts';
import { readSettingOptions, settingsHelp } from './setting-options.ts';
import { UsageError } from './usage-error.ts';

export const configHelp = `Usage: kube-netfilter-tailer config print [--effective] [--output yaml|json] [OPTION...]
       kube-netfilter-tailer config check FILE

print  what is set by the options given, the environment and the file that these name: the settings that "run" would have here.
       As YAML it is a config file itself, with a comment behind each value that says where it is from.
check  whether FILE is right, all by itself. Says all that is wrong, each with its line.

  --effective          settings with their default values too
  -o, --output FORMAT  yaml (default), or json: {"config": SETTINGS, "from": WHERE EACH IS FROM}

All options of "run":

${settingsHelp}
Exit status
  0  all is right
  2  a setting, the file or the command line is wrong
`;

/** Runs the command; its output. Throws a `UsageError` that lists all that is wrong. */
export function runConfig(args: readonly string[], env?: NodeJS.ProcessEnv): string {
  const [verb, ...rest] = args;
  if (verb === 'print') return print(rest, env);
  if (verb === 'check') return check(rest);
  if (verb === undefined || args.includes('--help') || args.includes('-h')) {
    if (verb !== undefined) return configHelp;
    throw new UsageError(['print or check?'], 'config');
  }
  const meant = nearest(verb, ['print', 'check']);
  throw new UsageError(
    [`there is no command config ${verb}${meant === undefined ? '' : `; did you mean config ${meant}?`}`],
    'config',
  );
}

function print(args: readonly string[], env: NodeJS.ProcessEnv | undefined): string {
  const own = { effective: { type: 'boolean' }, output: { type: 'string', short: 'o' } } as const;
  const read = readSettingOptions(args, 'config', own, (flags) => loadConfig({ flags, env }));
  if (read === 'help') return configHelp;
  const { loaded, options } = read;
  const output = options.last('output') ?? 'yaml';
  if (output !== 'yaml' && output !== 'json')
    throw new UsageError([`--output ${output}: must be yaml or json`], 'config');
  const given = options.switches.has('effective') ? loaded.given : withoutDefaults(loaded.given);
  if (output === 'json') return printJson(given, loaded.warnings);
  return loaded.warnings.map((warning) => `# ${warning}\n`).join('') + printYaml(given);
}

function check(args: readonly string[]): string {
  if (args.includes('--help') || args.includes('-h')) return configHelp;
  const [path, ...more] = args;
  if (path === undefined || path === '' || more.length > 0)
    throw new UsageError(['config check takes one FILE'], 'config');
  const problems = checkConfigFile(path);
  if (problems.length > 0) throw new UsageError(problems, 'config');
  return `${path}: right\n`;
}
