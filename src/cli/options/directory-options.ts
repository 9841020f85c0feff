import { isIP } from 'node:net';
import type { Command, Option } from 'commander';
import { environment } from '../../agent/config/config.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { type ListenAddress, parseListenAddress } from '../../base/platform/address.ts';
import { type LogLevel, logLevels } from '../../agent/telemetry/logger.ts';
import { createCommand, option, pathOf, UsageError } from './command.ts';

export interface DirectoryOptions {
  listen: ListenAddress;
  metricsAddress: string;
  /** The agents' ServiceAccount, which is in the namespace of this Pod. */
  account: string;
  configMap: string;
  kubeconfig: string | undefined;
  logLevel: LogLevel;
  podName: string;
  podNamespace: string;
  /** The address at which agents reach the directory. */
  podAddress: string;
}

const settings = {
  listen: { variable: 'LISTEN_ADDRESS', preset: ':8443' },
  metricsAddress: { variable: 'METRICS_ADDRESS', preset: ':9090' },
  account: { variable: 'AGENT_ACCOUNT', preset: 'kube-netfilter-tailer' },
  configMap: { variable: 'DIRECTORY_CONFIG_MAP', preset: 'kube-netfilter-tailer-directory' },
  logLevel: { variable: 'LOG_LEVEL', preset: 'info' },
} as const;
type Setting = keyof typeof settings;

function withPreset(flags: string, text: string, key: Setting): Option {
  const { variable, preset } = settings[key];
  return option(flags, `${text}. Default: ${preset} (${variable})`);
}

export function directoryCommand(): Command {
  return createCommand('directory', {
    summary: 'IP-to-Pod directory service for the agents of a large cluster',
    usage: '[OPTION...]',
    about: `The shared directory of Pods: watches all Pods of the cluster once, and answers the agents of all nodes whose an address is, over HTTPS. For clusters in which an agent cannot find that out for little; docs/lookups.md. Runs until it gets SIGTERM.

POD_NAME, POD_NAMESPACE and POD_IP have to be set: valueFrom fieldRef metadata.name, metadata.namespace, status.podIP. With DIRECTORY_ACCOUNT (spec.serviceAccountName), the ConfigMap has that name, and the agents' ServiceAccount that name without "-directory".`,
    options: [
      withPreset('--listen <[HOST]:PORT>', 'where agents ask', 'listen'),
      withPreset(
        '--metrics-address <[HOST]:PORT>',
        'listen address for /metrics, /healthz and /readyz',
        'metricsAddress',
      ),
      withPreset('--account <NAME>', 'ServiceAccount of the agents, in the own namespace', 'account'),
      withPreset(
        '--config-map <NAME>',
        'where its address and its certificate are published, in the own namespace',
        'configMap',
      ),
      withPreset('--log-level <LEVEL>', 'debug, info, warn or error', 'logLevel'),
      option('--kubeconfig <FILE>', "how to reach the API server. Default: $KUBECONFIG, else the Pod's ServiceAccount"),
    ],
    exits: ['stopped in good order', '', 'an option is wrong, or it cannot begin'],
  });
}

/** The manifests give all three one name, and kustomize changes all three alike, with a prefix or a suffix. */
function namesBeside(own: string | undefined): Partial<Record<Setting, string>> {
  return own === undefined ? {} : { account: own.replace(/-directory(?!.*-directory)/, ''), configMap: own };
}

/** Throws a `UsageError` that lists all that is wrong. */
export function readDirectoryOptions(command: Command, env: NodeJS.ProcessEnv = environment()): DirectoryOptions {
  const problems: string[] = [];
  const options = command.opts<Partial<Record<Setting | 'kubeconfig', string>>>();
  const given = (key: Setting): string =>
    options[key] ??
    (env[settings[key].variable] || (namesBeside(env['DIRECTORY_ACCOUNT'])[key] ?? settings[key].preset));
  const need = (what: string, value: string, isRight: boolean, example: string): string => {
    if (!isRight) problems.push(`${what} ${JSON.stringify(value)}: must be ${example}`);
    return value;
  };
  const name = (flag: string, key: Setting): string => {
    const value = given(key);
    return need(`--${flag}`, value, isSubdomain(value), 'a name such as kube-netfilter-tailer');
  };
  const ofPod = (variable: string, isRight: (value: string) => boolean): string => {
    const value = env[variable] ?? '';
    return need(variable, value, isRight(value), 'set to what the Pod has');
  };
  const listenText = given('listen');
  const listen = parseListenAddress(listenText);
  need('--listen', listenText, listen !== undefined, '[HOST]:PORT, for example :8443');
  const metricsAddress = given('metricsAddress');
  need('--metrics-address', metricsAddress, parseListenAddress(metricsAddress) !== undefined, '[HOST]:PORT');
  const level = given('logLevel').toLowerCase();
  const logLevel = logLevels.find((each) => each === level);
  need('--log-level', level, logLevel !== undefined, 'debug, info, warn or error');
  const read = {
    listen: listen ?? { host: undefined, port: 0 },
    metricsAddress,
    account: name('account', 'account'),
    configMap: name('config-map', 'configMap'),
    kubeconfig: options.kubeconfig,
    logLevel: logLevel ?? 'info',
    podName: ofPod('POD_NAME', isSubdomain),
    podNamespace: ofPod('POD_NAMESPACE', isLabel),
    podAddress: ofPod('POD_IP', (value) => isIP(value) !== 0),
  };
  if (problems.length > 0) throw new UsageError(problems, pathOf(command));
  return read;
}
