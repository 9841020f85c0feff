/** What the stand-in for a kubelet reads of a Pod. Field names are those of core/v1. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly hostNetwork?: boolean;
    readonly hostPID?: boolean;
    readonly terminationGracePeriodSeconds?: number;
    readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
    readonly securityContext?: {
      readonly runAsUser?: number;
      readonly runAsGroup?: number;
      readonly supplementalGroups?: readonly number[];
    };
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes?: readonly Volume[];
  };
  readonly status?: { readonly phase?: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly envFrom?: readonly object[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
    readonly subPath?: string;
  }[];
  readonly securityContext?: {
    readonly privileged?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly runAsUser?: number;
    readonly runAsGroup?: number;
    readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  };
}

export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

export interface Probe {
  readonly httpGet?: { readonly path?: string; readonly port: number | string; readonly scheme?: string };
  readonly exec?: { readonly command: readonly string[] };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
  readonly successThreshold?: number;
}

export interface Volume {
  readonly name: string;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly emptyDir?: object;
  readonly configMap?: ProjectedSource['configMap'];
  readonly projected?: { readonly sources: readonly ProjectedSource[] };
}

export interface ProjectedSource {
  readonly serviceAccountToken?: {
    readonly path: string;
    readonly expirationSeconds?: number;
    readonly audience?: string;
  };
  readonly configMap?: {
    readonly name: string;
    readonly items?: readonly { readonly key: string; readonly path: string }[];
  };
  readonly downwardAPI?: {
    readonly items: readonly { readonly path: string; readonly fieldRef: { readonly fieldPath: string } }[];
  };
}

/** `metadata.name`, `spec.nodeName`, `metadata.labels['key']` and the like; `address`: of the Pod, `nodeAddress`: of its Node. */
export function fieldOf(pod: Pod, path: string, address: string, nodeAddress: string): string {
  if (path === 'status.podIP' || path === 'status.podIPs') return address;
  if (path === 'status.hostIP' || path === 'status.hostIPs') return nodeAddress;
  const [, map, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  const value =
    map !== undefined && key !== undefined
      ? ((pod.metadata[map] as Record<string, string> | undefined)?.[key] ?? '')
      : path.split('.').reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], pod);
  if (typeof value !== 'string') throw new Error(`fieldRef ${path} is not known here`);
  return value;
}
