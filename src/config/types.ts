import type { LookupWay } from '../model/lookup-way.ts';
import type { LegacyMetricSetting } from '../telemetry/legacy-naming.ts';
import type { Verdict } from '../model/packet.ts';
import type { ContainerRule } from '../sources/kubelet/rules.ts';

/** One log to read, or several. `auto`: the kernel's, from where it is found, and kube-proxy's where that is a file. */
export type SourceSetting =
  | { kind: 'auto' | 'kernel' | 'containers' }
  | { kind: 'journal'; directory: string | undefined }
  | { kind: 'file'; path: string }
  | { kind: 'program'; program: string; path: string };

/** Everything that can be set for `run`. */
export interface Config {
  readonly node: string;
  readonly sources: readonly SourceSetting[];
  readonly containers: readonly ContainerRule[];
  readonly podLogs: string;
  /** With their suffix: `k3s.service`. */
  readonly units: readonly string[];
  readonly stateDir: string;
  readonly podCache: 'node' | 'cluster';
  readonly podLookups: readonly LookupWay[];
  readonly prefixes: readonly { prefix: string; verdict: Verdict }[];
  readonly includeNoise: boolean;
  readonly timeZone: string;
  readonly reverseDns: boolean;
  readonly metricsAddress: string;
  readonly healthAddress: string | undefined;
  readonly legacyMetric: LegacyMetricSetting;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  readonly kubeconfig: string | undefined;
  readonly maxNodes: number;
  readonly maxServices: number;
  readonly maxEndpointSlices: number;
  readonly procRoot: string;
}

export type SettingName = keyof Config;

export interface Setting {
  /** The option of the command line, without its dashes. */
  flag: string;
  /** The variable; '' if there is none. */
  env: string;
  /** What stands for the value in a help text. */
  value: string;
  help: string;
  type: 'text' | 'boolean' | 'number';
  /** As on the command line. */
  default?: string;
  /** May be given several times; in the environment, separated by this. */
  list?: RegExp;
  /** All values that there are. */
  choices?: readonly string[];
  /** The running agent follows a change of the file. */
  reload?: true;
}

export const podCacheChoices = ['node', 'cluster'] as const;
export const logLevelChoices = ['debug', 'info', 'warn', 'error'] as const;
