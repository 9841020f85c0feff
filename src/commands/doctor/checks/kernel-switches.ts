import { answersOf, type Check } from '../check.ts';
import type { NetworkView } from '../network-view.ts';

/** Content of a file without the white space around it; undefined when it cannot be read. */
export type ReadFile = (path: string) => string | undefined;

const families = [
  { name: 'nf-log IPv4', path: '/proc/sys/net/netfilter/nf_log/2' },
  { name: 'nf-log IPv6', path: '/proc/sys/net/netfilter/nf_log/10' },
] as const;

/** `nf_log_ipv4`, `nf_log_ipv6`, or of newer kernels' one module, `nf_log_syslog`. */
const toSyslog = /^nf_log_(?:syslog|ipv[46])$/;

/** For TRACE and invalid packets: LOG rules use the kernel's log whatever stands here (nf_log_packet, net/netfilter/nf_log.c). */
export function checkLogBackend(readFile: ReadFile, view: NetworkView): Check[] {
  if (view === 'pod')
    return [
      answersOf('nf-log').unknown(
        "not to be seen from a Pod without the node's network; LOG rules do not go by it, only TRACE and what connection tracking finds invalid",
        `run on the node: head ${families.map(({ path }) => path).join(' ')}`,
      ),
    ];
  return families.map(({ name, path }) => {
    const { ok, unknown, warning } = answersOf(name);
    const logger = readFile(path);
    if (logger === undefined) return unknown(`${path} cannot be read`, `run on the node as root: cat ${path}`);
    if (toSyslog.test(logger)) return ok(`${logger} writes to the kernel's log`);
    if (logger === 'NONE')
      return warning(
        "no module writes packets to the kernel's log yet (NONE)",
        'the first LOG rule loads it, or: modprobe nf_log_syslog (before Linux 5.13: nf_log_ipv4, nf_log_ipv6)',
      );
    return warning(
      `TRACE and what is invalid to connection tracking go to ${logger}; LOG rules do not`,
      `if they should be in the kernel's log: sysctl net.netfilter.nf_log.${path.split('/').at(-1)}=${name.endsWith('4') ? 'nf_log_ipv4' : 'nf_log_ipv6'}`,
    );
  });
}

export interface LogNamespacesOptions {
  readFile: ReadFile;
  view: NetworkView;
  /** `kind://docker/kind/kind-worker`; undefined where the Node has none. */
  providerId: string | undefined;
}

/** Nodes that are containers on one machine. */
const inContainers = /^kind:|^k3s:\/\/k3d-/;
/** Clouds, whose nodes are machines. */
const onMachines = /^(?:aws|azure|digitalocean|equinixmetal|gce|hcloud|ibm|linode|openstack|vsphere):/;

/** Only the first network namespace logs, unless a sysctl changes that. It matters where the node is itself a container. */
export function checkLogNamespaces({ readFile, view, providerId = '' }: LogNamespacesOptions): Check {
  const { ok, unknown, warning } = answersOf('nf-log-all-netns');
  const value = readFile('/proc/sys/net/netfilter/nf_log_all_netns');
  if (view === 'initial')
    return ok(
      value === '1'
        ? 'on: rules of all network namespaces log'
        : "off, and not needed: the node's network is the kernel's first",
    );
  const advice =
    'run on the machine itself: sysctl net.netfilter.nf_log_all_netns; it must be 1, or the rules of this node log nothing';
  if (inContainers.test(providerId))
    return warning('this node is itself a container, whose rules log only if the machine lets them', advice);
  if (view === 'node')
    return warning("the node's network is not the kernel's first: its rules log only if the machine lets them", advice);
  if (onMachines.test(providerId)) return ok(`not needed: the node is a machine (${providerId})`);
  return unknown('not to be seen from here; it matters only where the node is itself a container (kind, k3d)', advice);
}
