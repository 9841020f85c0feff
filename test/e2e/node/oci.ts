import { readFileSync } from 'node:fs';
import type { Image } from './image.ts';
import type { Container, Pod } from './pod-object.ts';

export interface Mount {
  readonly destination: string;
  readonly source: string;
  readonly readOnly: boolean;
}

export interface OciOptions {
  readonly pod: Pod;
  readonly container: Container;
  readonly image: Image;
  /** Its own copy of the image's root. */
  readonly rootfs: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  /** Path of the Pod's network namespace; undefined: the machine's. */
  readonly network: string | undefined;
  readonly hostname: string;
}

// Those that containerd gives a container unless it says otherwise.
const DEFAULT_CAPABILITIES =
  'CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE';

// In the order of linux/capability.h, up to Linux 5.9; later releases have no others.
const ALL_CAPABILITIES =
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE';

/**
 * The bundle's config.json for what a Pod says of a container (https://github.com/opencontainers/runtime-spec/blob/main/config.md).
 * Limits of memory and CPU, seccomp and AppArmor profiles are left
 * out; of the devices that a privileged container has, it gets /dev/kmsg.
 */
export function ociConfig(options: OciOptions): object {
  const { pod, container, image, env, network, hostname } = options;
  const security = container.securityContext ?? {};
  const capabilities = capabilitiesOf(security);
  const { command = image.entrypoint, args = container.command === undefined ? image.cmd : [] } = container;
  return {
    ociVersion: '1.0.2',
    hostname: network === undefined ? undefined : hostname,
    root: { path: options.rootfs, readonly: security.readOnlyRootFilesystem ?? false },
    process: {
      terminal: false,
      cwd: '/',
      args: [...command, ...args],
      env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      user: {
        uid: security.runAsUser ?? pod.spec.securityContext?.runAsUser ?? 0,
        gid: security.runAsGroup ?? pod.spec.securityContext?.runAsGroup ?? 0,
        additionalGids: pod.spec.securityContext?.supplementalGroups ?? [],
      },
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities, inheritable: [] },
      noNewPrivileges: security.allowPrivilegeEscalation === false,
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=65536k'] },
      ...Object.entries(image.binds).map(([destination, source]) => bind({ destination, source, readOnly: true })),
      ...options.mounts.map(bind),
    ],
    linux: {
      namespaces: [
        { type: 'mount' },
        { type: 'ipc' },
        ...(pod.spec.hostPID === true ? [] : [{ type: 'pid' }]),
        ...(network === undefined ? [] : [{ type: 'uts' }, { type: 'network', path: network }]),
      ],
      devices:
        security.privileged === true ? [{ path: '/dev/kmsg', type: 'c', major: 1, minor: 11, fileMode: 0o600 }] : [],
    },
  };
}

function bind({ destination, source, readOnly }: Mount): object {
  return { destination, source, type: 'bind', options: ['rbind', 'rprivate', readOnly ? 'ro' : 'rw'] };
}

function capabilitiesOf(security: NonNullable<Container['securityContext']>): readonly string[] {
  const { add = [], drop = [] } = security.capabilities ?? {};
  // Whatever else it says.
  if (security.privileged === true) return allCapabilities();
  const kept = drop.includes('ALL') ? [] : DEFAULT_CAPABILITIES.split(' ').filter((name) => !drop.includes(name));
  return [...new Set([...kept, ...add])].map((name) => `CAP_${name}`);
}

/** As many of them as this process may hand on: in some containers not all. */
function allCapabilities(): readonly string[] {
  const [, mask = '0'] = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const bits = BigInt(`0x${mask}`);
  return ALL_CAPABILITIES.split(' ')
    .filter((_, bit) => ((bits >> BigInt(bit)) & 1n) === 1n)
    .map((name) => `CAP_${name}`);
}
