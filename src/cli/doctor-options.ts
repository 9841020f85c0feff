import { type Config, ConfigError, environment, readSettings, settings } from '../config.ts';
import { ownPod, type PodName } from '../doctor/own-pod.ts';
import { readSettingOptions, type ReadSettings, settingsHelp } from './setting-options.ts';
import { UsageError } from './usage-error.ts';

export const doctorHelp = `Usage: kube-netfilter-tailer doctor [--output text|json] [OPTION...]
       kube-netfilter-tailer doctor --send-test-event [--pod NAMESPACE/NAME] [OPTION...]

Looks whether everything that "run" needs is there: settings, API server, rights, state, logs, rules that log, Calico's configuration,
a running agent. To be run with the same settings, on a node or in the agent's Pod. Changes nothing.

  -o, --output FORMAT    text (default), or json: one object (docs/doctor.md)
  --send-test-event      write one harmless Event instead, of type Normal with the reason TestEvent, to see it arrive: on the own Pod
                         (POD_NAME, POD_NAMESPACE), or else on the Node
  --pod NAMESPACE/NAME   on that Pod

All options of "run":

${settingsHelp}
Exit status
  0  all is well, or there are only warnings
  1  there is a problem, or the Event was not written
  2  the command line is wrong
`;

export interface DoctorOptions {
  /** Where settings are wrong, with the defaults in their place; no node ('') if none is named. */
  config: Config;
  /** What is wrong with the settings. */
  problems: readonly string[];
  /** What works, but should be changed. */
  warnings: readonly string[];
  output: 'text' | 'json';
  sendTestEvent: boolean;
  pod: PodName | undefined;
  ownPod: PodName | undefined;
}

const own = {
  output: { type: 'string', short: 'o' },
  'send-test-event': { type: 'boolean' },
  pod: { type: 'string' },
} as const;

/** Reads the arguments after `doctor`, and the environment. Throws a `UsageError` that lists all that is wrong with the arguments. */
export function readDoctorOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv = environment(),
): DoctorOptions | 'help' {
  const read = readAround(args, env);
  if (read === 'help') return 'help';
  const { config, problems, warnings, extra } = read;
  const { output = 'text', pod, 'send-test-event': sendTestEvent = false } = extra;
  const wrong: string[] = [];
  if (output !== 'text' && output !== 'json') wrong.push(`--output ${output}: must be text or json`);
  const [namespace, name, more] = typeof pod === 'string' ? pod.split('/') : [];
  const isPodName =
    namespace !== undefined && namespace !== '' && name !== undefined && name !== '' && more === undefined;
  if (pod !== undefined && !isPodName) wrong.push(`--pod ${pod}: must be NAMESPACE/NAME`);
  if (pod !== undefined && sendTestEvent !== true) wrong.push('--pod is only for --send-test-event');
  if (wrong.length > 0) throw new UsageError(wrong, 'doctor');
  return {
    config,
    problems,
    warnings,
    output: output === 'json' ? 'json' : 'text',
    sendTestEvent: sendTestEvent === true,
    pod: isPodName ? { namespace, name } : undefined,
    ownPod: ownPod(env),
  };
}

type Around = Pick<DoctorOptions, 'config' | 'problems' | 'warnings'> & Pick<ReadSettings<typeof own>, 'extra'>;

/** Stands for the Node's name where none is given. */
const placeholder = 'unnamed';

/** Settings of the environment that are wrong are what doctor is to tell, so it must not fail on them as `run` does. */
function readAround(args: readonly string[], env: NodeJS.ProcessEnv): Around | 'help' {
  try {
    const read = readSettingOptions(args, 'doctor', own, env);
    if (read === 'help') return read;
    const { config, warnings } = read.reading;
    return { config, warnings, problems: [], extra: read.extra };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
  }
  // If the arguments are wrong by themselves, this throws.
  const alone = readSettingOptions(args, 'doctor', own, named({}));
  if (alone === 'help') return alone;
  let usable: NodeJS.ProcessEnv = {};
  let reading = alone.reading;
  for (const name of variables(env)) {
    const next = { ...usable, [name]: env[name] };
    const read = attempt(() => readSettingOptions(args, 'doctor', own, named(next)));
    if (read === undefined || read === 'help') continue;
    usable = next;
    reading = read.reading;
  }
  const { config } = reading;
  const { origin } = reading.given.node ?? {};
  const isNamed = origin?.kind !== 'variable' || usable[settings.node.env] !== undefined;
  return {
    config: isNamed ? config : { ...config, node: '' },
    problems: problemsOf(alone, env),
    warnings: [],
    extra: alone.extra,
  };
}

function named(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { [settings.node.env]: placeholder, ...env };
}

/** Those that set something, the file of settings first: it is gone over by the others. */
function variables(env: NodeJS.ProcessEnv): string[] {
  const names = Object.values(settings).map((setting): string => setting.env);
  return ['CONFIG_FILE', ...names].filter((name) => name !== '' && env[name]);
}

function problemsOf({ reading }: ReadSettings<typeof own>, env: NodeJS.ProcessEnv): readonly string[] {
  const flags = Object.fromEntries(
    Object.entries(reading.given).flatMap(([name, { value, origin }]) => {
      const setting = settings[name as keyof Config];
      return origin.kind === 'option' ? [[setting.flag, Array.isArray(value) ? value.map(String) : String(value)]] : [];
    }),
  );
  try {
    readSettings({ ...flags, config: reading.file?.path }, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

function attempt<T>(task: () => T): T | undefined {
  try {
    return task();
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}
