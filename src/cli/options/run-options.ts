/** Options of `run`, `config` and `doctor`, which have one for each setting. */
import type { Command, Option } from 'commander';
import { DEFAULT_SCALAR_STYLE_RULES, dump, type DumpOptions, SCALAR_STYLE } from 'js-yaml';
import type { PodName } from '../doctor/machine.ts';
import { type AccessOptions, accessOf, kubectlGroup, kubectlOptions } from './cluster-options.ts';
import { createCommand, commandPath, UsageError } from './command.ts';
import { converted, givenOn, optionsOf, type OptionTable, readOptions } from './option-table.ts';
import {
  checkConfigFile,
  ConfigError,
  loadConfig,
  type LoadedConfig,
  environment,
  loadUsableConfig,
  type UsableConfig,
} from '../../agent/config/config.ts';
import { type Flags, type Layer, originText, type SettingValue } from '../../agent/config/layer.ts';
import { configFile, settingNames, settings, type SettingName } from '../../agent/config/settings.ts';
import { printable } from '../../base/platform/printable.ts';
import { jsonText } from '../terminal.ts';

const all = { configFile, ...settings };

const settingOptions = (): Option[] => optionsOf(all, 'Settings');

/** `problems`: those of other options, which are reported together with these. Throws a `UsageError` that lists all that is wrong. */
function readSettings<Loaded>(command: Command, problems: readonly string[], load: (flags: Flags) => Loaded): Loaded {
  try {
    return load(Object.fromEntries(Object.values(all).map(({ flag }) => [flag, givenOn(command, flag)])) as Flags);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new UsageError([...problems, ...error.problems], commandPath(command));
  }
}

export function runCommand(): Command {
  return createCommand('run', {
    summary: 'run the agent of a node: read its logs, write Events',
    usage: '[OPTION...]',
    about: `Runs the agent of one node: it reads the node's logs and writes Events on the Pods whose packets are dropped. Runs until it gets SIGTERM.

Each option can be set in the environment or in a file instead. Precedence: option, variable, file.
"kube-netfilter-tailer config print --effective" shows the settings in force, and where each is from.`,
    exits: ['stopped by SIGTERM', 'nothing can be read, or the program itself failed', 'a setting is wrong'],
    options: settingOptions(),
  });
}

export function readRunOptions(command: Command, env?: NodeJS.ProcessEnv): LoadedConfig {
  return readSettings(command, [], (flags) => loadConfig({ flags, env }));
}

const printTable = {
  effective: { help: 'also print settings that have their default values' },
  output: {
    short: 'o',
    value: 'FORMAT',
    help: 'yaml (default), or json: {"config": SETTINGS, "from": WHERE EACH IS FROM}',
    choices: ['yaml', 'json'],
  },
} as const satisfies OptionTable;

const exits = ['all is right', '', 'a setting, the file or the command line is wrong'];

export function configCommand(): Command {
  const print = createCommand('print', {
    summary: 'print the settings, and where each is from',
    usage: '[OPTION...]',
    about: `Prints the settings that "run" would have here, from the given options, the environment and the config file that they name.
The YAML is a config file itself; a comment behind each value says where it is from.`,
    exits,
    options: [...optionsOf(printTable), ...settingOptions()],
  });
  const check = createCommand('check', {
    summary: 'validate a file',
    usage: 'FILE',
    about: 'Validates FILE by itself, without options and variables. Reports every error with its line.',
    argument: ['<FILE>'],
    exits,
  });
  return createCommand('config', {
    summary: 'print the settings in force and where each is from, or check a config file',
    usage: 'print|check',
    about: 'Prints the settings in force, or checks a config file.',
    exits,
    commands: [print, check],
  });
}

/** Throws a `UsageError` that lists all that is wrong. */
export function printConfig(command: Command, env?: NodeJS.ProcessEnv): string {
  return readOptions(command, printTable, ({ effective, output }, problems) => {
    const loaded = readSettings(command, problems, (flags) => loadConfig({ flags, env }));
    const given = effective ? loaded.given : withoutDefaults(loaded.given);
    if (output === 'json') return printJson(given, loaded.warnings);
    return loaded.warnings.map((warning) => `# ${warning}\n`).join('') + printYaml(given);
  });
}

/** Throws a `UsageError` that lists all that is wrong. */
export function checkConfig(command: Command): string {
  const [path = ''] = command.args;
  if (path === '') throw new UsageError(['config check takes one FILE'], commandPath(command));
  const problems = checkConfigFile(path);
  if (problems.length > 0) throw new UsageError(problems, commandPath(command));
  return `${path}: right\n`;
}

/** Writes a text in one line, so that a comment can follow it. */
const style: DumpOptions = {
  lineWidth: -1,
  scalarStyleRules: [
    (layout) => {
      if (layout.node.value.includes('\n')) layout.style = SCALAR_STYLE.DOUBLE_QUOTED;
    },
    ...Object.values(DEFAULT_SCALAR_STYLE_RULES),
  ],
};

export function printYaml(given: Layer): string {
  return entriesOf(given)
    .map(([name, { value, origin }]) => {
      const text = dump({ [name]: value }, style);
      const end = text.indexOf('\n');
      return `${text.slice(0, end)}  # ${printable(originText(origin))}${text.slice(end)}`;
    })
    .join('');
}

export function printJson(given: Layer, warnings: readonly string[]): string {
  const entries = entriesOf(given);
  const config = Object.fromEntries(entries.map(([name, { value }]) => [name, value]));
  const from = Object.fromEntries(entries.map(([name, { origin }]) => [name, originText(origin)]));
  return jsonText({ config, from, warnings }, 2);
}

export function withoutDefaults(given: Layer): Layer {
  return Object.fromEntries(entriesOf(given).filter(([, { origin }]) => origin.kind !== 'default'));
}

function entriesOf(given: Layer): [SettingName, SettingValue][] {
  return settingNames.flatMap((name): [SettingName, SettingValue][] => {
    const found = given[name];
    return found === undefined ? [] : [[name, found]];
  });
}

const doctorTable = {
  output: {
    short: 'o',
    value: 'FORMAT',
    help: 'text (default), or json: one object (docs/doctor.md)',
    choices: ['text', 'json'],
  },
  sendTestEvent: {
    help: 'only write one harmless Event (type Normal, reason TestEvent), to see it arrive: on the Pod that doctor runs in (POD_NAME, POD_NAMESPACE) or, outside a Pod, on the Node',
  },
  pod: {
    value: 'NAMESPACE/NAME',
    help: 'write the test Event on this Pod',
    schema: converted((text): PodName | undefined => {
      const [namespace = '', name = '', ...more] = text.split('/');
      return namespace === '' || name === '' || more.length > 0 ? undefined : { namespace, name };
    }, 'must be NAMESPACE/NAME'),
  },
  enableLogging: {
    help: 'find the network plug-in, and print how to make it log dropped packets: the manifest, how to undo it, and what it costs. Applies nothing',
  },
} as const satisfies OptionTable;

/** Of kubectl's options, `--kubeconfig` is a setting, and `--cluster` is already the name of another one. */
const { kubeconfig: _, cluster: __, ...accessTable } = kubectlOptions;

export function doctorCommand(): Command {
  return createCommand('doctor', {
    summary: 'check prerequisites, and say what to do',
    usage: '[--send-test-event | --enable-logging] [OPTION...]',
    about: `Checks everything that "run" needs: settings, API server, rights, state, logs, rules that log, Calico's configuration, a running agent. Run it with the agent's settings, on a node or in the agent's Pod. Changes nothing.`,
    exits: [
      'all is well, or there are only warnings; with --enable-logging: logging can be turned on',
      'there is a problem, or the Event was not written; with --enable-logging: no plug-in was recognised, or it cannot log',
      'the command line is wrong',
    ],
    options: [...optionsOf(doctorTable), ...optionsOf(accessTable, kubectlGroup), ...settingOptions()],
  });
}

export interface DoctorOptions extends UsableConfig {
  /** The user who asks the API server, in addition to the setting `kubeconfig`. */
  access: AccessOptions;
  output: 'text' | 'json';
  sendTestEvent: boolean;
  enableLogging: boolean;
  pod: PodName | undefined;
}

/** Throws a `UsageError` that lists the problems of the arguments. Doctor reports wrong settings itself. */
export function readDoctorOptions(command: Command, env: NodeJS.ProcessEnv = environment()): DoctorOptions {
  return readOptions(command, { ...doctorTable, ...accessTable }, (given, problems) => {
    const { output = 'text', pod, sendTestEvent, enableLogging } = given;
    if (pod !== undefined && !sendTestEvent) problems.push('--pod is only for --send-test-event');
    if (sendTestEvent && enableLogging) problems.push('--enable-logging and --send-test-event exclude each other');
    const usable = readSettings(command, problems, (flags) => loadUsableConfig({ flags, env }));
    const access = accessOf({ ...given, kubeconfig: usable.config.kubeconfig, cluster: undefined });
    return { ...usable, output, pod, sendTestEvent, enableLogging, access };
  });
}
