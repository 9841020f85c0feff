import { isIP } from 'node:net';
import type { Command } from 'commander';
import { environment } from '../../agent/config/config.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { type ListenAddress, parseListenAddress } from '../../base/platform/address.ts';
import { type LogLevel, logLevels } from '../../agent/telemetry/logger.ts';
import { createCommand } from './command.ts';
import { checked, converted, optionsOf, type OptionTable, type OptionValues, readOptions } from './option-table.ts';

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

const objectName = checked(isSubdomain, 'must be a name such as kube-netfilter-tailer');

const table = {
  listen: {
    value: '[HOST]:PORT',
    help: 'listen address for agents',
    default: ':8443',
    env: 'LISTEN_ADDRESS',
    schema: converted(parseListenAddress, 'must be [HOST]:PORT, for example :8443'),
  },
  metricsAddress: {
    value: '[HOST]:PORT',
    help: 'listen address for /metrics, /healthz and /readyz',
    default: ':9090',
    env: 'METRICS_ADDRESS',
    schema: checked((text) => parseListenAddress(text) !== undefined, 'must be [HOST]:PORT'),
  },
  account: {
    value: 'NAME',
    help: 'ServiceAccount of the agents, in the namespace of this Pod',
    default: 'kube-netfilter-tailer',
    env: 'AGENT_ACCOUNT',
    schema: objectName,
  },
  configMap: {
    value: 'NAME',
    help: 'ConfigMap that gets the address and the certificate, in the namespace of this Pod',
    default: 'kube-netfilter-tailer-directory',
    env: 'DIRECTORY_CONFIG_MAP',
    schema: objectName,
  },
  logLevel: {
    value: 'LEVEL',
    help: 'debug, info, warn or error',
    default: 'info',
    env: 'LOG_LEVEL',
    choices: logLevels,
    schema: converted(
      (text) => logLevels.find((each) => each === text.toLowerCase()),
      'must be debug, info, warn or error',
    ),
  },
  kubeconfig: {
    value: 'FILE',
    help: "kubeconfig file for the API server. Default: $KUBECONFIG or, if that is not set, the Pod's ServiceAccount",
  },
} as const satisfies OptionTable;

export function directoryCommand(): Command {
  return createCommand('directory', {
    summary: 'IP-to-Pod directory service for the agents of a large cluster',
    usage: '[OPTION...]',
    about: `Runs the shared directory of Pods: it watches all Pods of the cluster once, and tells the agents of all nodes over HTTPS which Pod has an address. For clusters in which each agent's own look-ups would cost too much (docs/lookups.md). Runs until it gets SIGTERM.

Set POD_NAME, POD_NAMESPACE and POD_IP (valueFrom fieldRef metadata.name, metadata.namespace, status.podIP). If DIRECTORY_ACCOUNT is set (spec.serviceAccountName), the ConfigMap has that name, and the agents' ServiceAccount has that name without "-directory".`,
    options: optionsOf(table),
    exits: ['stopped by SIGTERM', '', 'an option is wrong, or the directory cannot start'],
  });
}

const suffix = '-directory';

/** The manifests give all three one name, and kustomize changes all three alike, with a prefix or a suffix. */
function namesBeside(own: string | undefined): Partial<Record<keyof typeof table, string>> {
  if (own === undefined) return {};
  const at = own.lastIndexOf(suffix);
  return { account: at < 0 ? own : own.slice(0, at) + own.slice(at + suffix.length), configMap: own };
}

/** Throws a `UsageError` that lists all that is wrong. */
export function readDirectoryOptions(command: Command, env: NodeJS.ProcessEnv = environment()): DirectoryOptions {
  const preset = (key: keyof typeof table): string | undefined => {
    const row: OptionTable[string] = table[key];
    return env[row.env ?? ''] || namesBeside(env['DIRECTORY_ACCOUNT'])[key];
  };
  const read = (values: OptionValues<typeof table>, problems: string[]): DirectoryOptions => {
    const ofPod = (variable: string, isRight: (value: string) => boolean): string => {
      const value = env[variable] ?? '';
      if (!isRight(value)) problems.push(`${variable} ${JSON.stringify(value)}: must be set to what the Pod has`);
      return value;
    };
    return {
      ...values,
      podName: ofPod('POD_NAME', isSubdomain),
      podNamespace: ofPod('POD_NAMESPACE', isLabel),
      podAddress: ofPod('POD_IP', (value) => isIP(value) !== 0),
    };
  };
  return readOptions(command, table, read, preset);
}
