import { isIP } from 'node:net';
import { environment } from '../../config/config.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { type ListenAddress, parseListenAddress } from '../../telemetry/listen-address.ts';
import { type LogLevel, logLevels } from '../../telemetry/logger.ts';
import { parseOptions } from './parse-options.ts';
import { UsageError } from './usage-error.ts';

export interface DirectoryOptions {
  listen: ListenAddress;
  metricsAddress: string;
  /** Of the agents, in the own namespace. */
  account: string;
  /** In the own namespace. */
  configMap: string;
  kubeconfig: string | undefined;
  logLevel: LogLevel;
  podName: string;
  podNamespace: string;
  /** By which agents reach it. */
  podAddress: string;
}

export const directoryHelp = `Usage: kube-netfilter-tailer directory [OPTION...]

The shared directory of Pods: watches all Pods of the cluster once, and answers the agents of all nodes whose an address is, over HTTPS.
For clusters in which an agent cannot find that out for little; docs/lookups.md. Runs until it gets SIGTERM.

  --listen [HOST]:PORT           (LISTEN_ADDRESS)
      where agents ask. Default: :8443
  --metrics-address [HOST]:PORT  (METRICS_ADDRESS)
      where /metrics, /healthz and /readyz are served. Default: :9090
  --account NAME                 (AGENT_ACCOUNT)
      ServiceAccount of the agents, in the own namespace. Default: kube-netfilter-tailer
  --config-map NAME              (DIRECTORY_CONFIG_MAP)
      where its address and its certificate are published, in the own namespace. Default: kube-netfilter-tailer-directory
  --log-level LEVEL              (LOG_LEVEL)
      debug, info, warn or error. Default: info
  --kubeconfig FILE
      how to reach the API server. Default: $KUBECONFIG, else the Pod's ServiceAccount

POD_NAME, POD_NAMESPACE and POD_IP have to be set: valueFrom fieldRef metadata.name, metadata.namespace, status.podIP.

Exit status
  0  stopped in good order
  2  an option is wrong, or it cannot begin
`;

const forms = {
  listen: { type: 'string' },
  'metrics-address': { type: 'string' },
  account: { type: 'string' },
  'config-map': { type: 'string' },
  'log-level': { type: 'string' },
  kubeconfig: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Reads the arguments after `directory`, and the environment. Throws a `UsageError` that lists all that is wrong. */
export function readDirectoryOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv = environment(),
): DirectoryOptions | 'help' {
  const { last, switches, problems } = parseOptions(args, forms, false);
  if (switches.has('help')) return 'help';
  const given = (flag: string, variable: string, preset: string): string => last(flag) ?? (env[variable] || preset);
  const need = (what: string, value: string, isRight: boolean, example: string): string => {
    if (!isRight) problems.push(`${what} ${JSON.stringify(value)}: must be ${example}`);
    return value;
  };
  const name = (flag: string, variable: string, preset: string): string => {
    const value = given(flag, variable, preset);
    return need(`--${flag}`, value, isSubdomain(value), 'a name such as kube-netfilter-tailer');
  };
  const ofPod = (variable: string, isRight: (value: string) => boolean): string => {
    const value = env[variable] ?? '';
    return need(variable, value, isRight(value), 'set to what the Pod has');
  };
  const listenText = given('listen', 'LISTEN_ADDRESS', ':8443');
  const listen = parseListenAddress(listenText);
  need('--listen', listenText, listen !== undefined, '[HOST]:PORT, for example :8443');
  const metricsAddress = given('metrics-address', 'METRICS_ADDRESS', ':9090');
  need('--metrics-address', metricsAddress, parseListenAddress(metricsAddress) !== undefined, '[HOST]:PORT');
  const level = given('log-level', 'LOG_LEVEL', 'info').toLowerCase();
  const logLevel = logLevels.find((each) => each === level);
  need('--log-level', level, logLevel !== undefined, 'debug, info, warn or error');
  const options = {
    listen: listen ?? { host: undefined, port: 0 },
    metricsAddress,
    account: name('account', 'AGENT_ACCOUNT', 'kube-netfilter-tailer'),
    configMap: name('config-map', 'DIRECTORY_CONFIG_MAP', 'kube-netfilter-tailer-directory'),
    kubeconfig: last('kubeconfig'),
    logLevel: logLevel ?? 'info',
    podName: ofPod('POD_NAME', isSubdomain),
    podNamespace: ofPod('POD_NAMESPACE', isLabel),
    podAddress: ofPod('POD_IP', (value) => isIP(value) !== 0),
  };
  if (problems.length > 0) throw new UsageError(problems, 'directory');
  return options;
}
