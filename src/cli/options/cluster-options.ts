/** Options of commands that ask a cluster, as kubectl has them. */
import type { UserFlags } from '../../agent/kubernetes/kubeconfig.ts';
import { isHttpUrl } from '../../base/platform/address.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { optionName } from '../../agent/config/settings.ts';
import { durationOf } from './command.ts';
import { checked, converted, type OptionRow, type OptionTable, type OptionValues } from './option-table.ts';

export const namespaceName = checked(isLabel, 'is not a Namespace name');
export const nodeName = checked(isSubdomain, 'is not the name of a Node');

export const namespaceOptions = {
  namespace: {
    short: 'n',
    value: 'NAMESPACE',
    help: 'use this namespace. Default: the namespace of the current context',
    schema: namespaceName,
  },
  allNamespaces: { short: 'A', help: 'use all namespaces' },
} as const satisfies OptionTable;

/** No limit: the longest time of a timer. */
const endless: Millis = 2_147_483_647;

/** Like kubectl, reads a bare number as seconds. */
function timeoutOf(text: string): Millis | undefined {
  if (/^0+[smh]?$/.test(text)) return endless;
  const [, millis] = /^(\d{1,6})ms$/.exec(text) ?? [];
  return millis === undefined ? durationOf(/^\d+$/.test(text) ? `${text}s` : text) : Number(millis);
}

export const kubectlOptions = {
  kubeconfig: { value: 'FILE', help: '' },
  context: { value: 'CONTEXT', help: '' },
  cluster: { value: 'CLUSTER', help: '' },
  user: { value: 'USER', help: '' },
  server: {
    short: 's',
    value: 'URL',
    help: '',
    schema: checked(isHttpUrl, 'must be a URL such as https://10.0.0.1:6443'),
  },
  certificateAuthority: { value: 'FILE', help: '' },
  insecureSkipTlsVerify: { help: '' },
  token: { value: 'TOKEN', help: '' },
  as: { value: 'USERNAME', help: '' },
  asGroups: { flag: 'as-group', value: 'GROUP', help: '', list: true },
  asUid: { value: 'UID', help: '' },
  requestTimeout: {
    value: 'DURATION',
    help: 'time limit of each request, such as 10s or 1m; 0: no limit',
    schema: converted(timeoutOf, 'must be a duration such as 10s or 1m, or 0'),
  },
} as const satisfies OptionTable;

export const kubectlGroup = 'As for kubectl';

/** The API server, and the user who asks it. */
export interface AccessOptions {
  readonly flags: UserFlags;
  /** Of each request. */
  readonly timeout: Millis | undefined;
}

export interface ClusterOptions extends AccessOptions {
  /** Undefined for the namespace of the kubeconfig's context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
}

type KubectlValues = OptionValues<typeof kubectlOptions>;

export function accessOf(given: Omit<KubectlValues, 'requestTimeout'> & Partial<KubectlValues>): AccessOptions {
  const { requestTimeout: timeout } = given;
  const flags = Object.fromEntries(Object.keys(kubectlOptions).map((key) => [key, given[key as keyof UserFlags]]));
  return { flags, timeout };
}

export function clusterOf(given: KubectlValues & Pick<ClusterOptions, 'namespace' | 'allNamespaces'>): ClusterOptions {
  return { ...accessOf(given), namespace: given.namespace, allNamespaces: given.allNamespaces };
}

/** The options that are given, such as `--context`. */
export function givenFlags({ flags, timeout }: AccessOptions): string[] {
  const given = Object.entries({ ...flags, requestTimeout: timeout });
  return given.flatMap(([key, value]) =>
    value === undefined || value === false || (Array.isArray(value) && value.length === 0) ? [] : `--${flagOf(key)}`,
  );
}

function flagOf(key: string): string {
  const row: OptionRow | undefined = kubectlOptions[key as keyof typeof kubectlOptions];
  return row?.flag ?? optionName(key);
}
