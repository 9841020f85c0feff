import type { Observation } from '../model/observation.ts';
import {
  parseConntrackFull,
  parseJournald,
  parseMartian,
  parseNeighbourOverflow,
  parseSuppressed,
} from './kernel-warnings.ts';
import { parseAntrea } from './policy-loggers/antrea.ts';
import { parseAws } from './policy-loggers/aws.ts';
import { parseCalicoBpf } from './policy-loggers/calico-bpf.ts';
import { parseCalicoFlow } from './policy-loggers/calico-flow.ts';
import { parseGke } from './policy-loggers/gke.ts';
import { parseHubble } from './policy-loggers/hubble.ts';
import { parseNfqueue } from './policy-loggers/nfqueue.ts';
import { parseOvn } from './policy-loggers/ovn.ts';
import { parseUlogd } from './policy-loggers/ulogd.ts';
import { parseWeave } from './policy-loggers/weave.ts';
import { parseNetfilter } from './netfilter/netfilter.ts';
import type { PrefixTable } from './netfilter/prefixes.ts';
import { isLabel, isSubdomain } from '../platform/api-names.ts';
import type { PolicyName } from '../model/packet.ts';

/** One kind of line. A new one is a parser, a row here and a line of the corpus (CONTRIBUTING.md). */
export interface Format {
  name: string;
  /** One of these literals stands in every such line. Blocks are searched for all formats' needles before lines are cut:
   *  eight characters or more cost next to nothing. */
  needles: readonly string[];
  /** The kernel, programs as syslog and journald name them, or containers; others are refused. A line without a writer is not. */
  writers: readonly string[];
  /** `undefined`: another format. `unparsable`: this format, but damaged. Never throws; linear in the length of the text. */
  parse: (text: string, prefixes: PrefixTable) => Observation | undefined;
}

export interface Refused {
  kind: 'refused';
  format: string;
  writers: readonly string[];
}

const ulogd = ['ulogd', 'ulogd2'];
const kernel = ['kernel'];
/** BPF programs, which print to a trace of the kernel. */
const bpf = ['bpf'];
/** Calico's Felix, through its socket. */
const flows = ['calico-flows'];

/** The first that does not answer `undefined` has the line. */
export const formats: readonly Format[] = [
  { name: 'netfilter', needles: ['IN='], writers: [...kernel, ...ulogd], parse: parseNetfilter },
  { name: 'ulogd', needles: ['"oob.prefix"', '"oob.family"'], writers: ulogd, parse: parseUlogd },
  { name: 'conntrack', needles: ['conntrack: table full'], writers: kernel, parse: parseConntrackFull },
  { name: 'neighbour', needles: ['table overflow'], writers: kernel, parse: parseNeighbourOverflow },
  { name: 'martian', needles: ['martian source', 'martian destination'], writers: kernel, parse: parseMartian },
  { name: 'suppressed', needles: ['callbacks suppressed'], writers: kernel, parse: parseSuppressed },
  {
    name: 'journald',
    needles: [' kernel messages', 'kmsg buffer overrun', 'Suppressed '],
    writers: ['systemd-journald'],
    parse: parseJournald,
  },
  { name: 'calico-bpf', needles: [': policy DENIED', ': policy ALLOWED'], writers: bpf, parse: parseCalicoBpf },
  { name: 'calico-flow', needles: ['WorkloadEndpoint', 'HostEndpoint'], writers: flows, parse: parseCalicoFlow },
  { name: 'hubble', needles: ['"flow":{"', '"lost_events":{'], writers: ['cilium-agent'], parse: parseHubble },
  { name: 'gke-policy-action', needles: ['"disposition":"'], writers: ['cilium-agent'], parse: parseGke },
  {
    name: 'aws-network-policy-agent',
    needles: ['PolicyVerdict:', 'Flow Info'],
    writers: ['aws-network-policy-agent', 'network-policy-agent', 'aws-eks-nodeagent', 'aws-node'],
    parse: parseAws,
  },
  {
    name: 'kube-network-policies',
    needles: ['Evaluating packet', 'Finished syncing packet'],
    writers: ['kube-network-policies', 'kindnet-cni'],
    parse: parseNfqueue,
  },
  { name: 'ovn-acl', needles: ['acl_log('], writers: ['ovn-controller', 'ovn-acl-logging'], parse: parseOvn },
  { name: 'weave-npc', needles: ['blocked by Weave NPC'], writers: ['weave-npc'], parse: parseWeave },
  { name: 'antrea', needles: ['NetworkPolicy'], writers: ['antrea-agent'], parse: parseAntrea },
];

/** journald writes a message that is no UTF-8 as an array of bytes, in which no other needle can be seen. */
const byteArrayMessage = ['"MESSAGE":[', '"MESSAGE": [', '"MESSAGE" : ['];

/** One of these stands in every line that some format may claim, envelopes included. */
export const needlesOfAll: readonly string[] = [...formats.flatMap((format) => format.needles), ...byteArrayMessage];

/** Programs write much beside packets: all formats on every line took a third of what a line costs (`npm run bench -- incidents`). */
const anyNeedle = new RegExp(
  formats.flatMap(({ needles }) => needles.map((needle) => RegExp.escape(needle))).join('|'),
);

/** `undefined`: no format. Any program can take the kernel's and ulogd's names, so these count only with the origin `kernel`. */
export function parse(
  text: string,
  prefixes: PrefixTable,
  origin = 'unknown',
  program?: string,
): Observation | Refused | undefined {
  const isKernel = origin === 'kernel';
  if (!isKernel && origin !== 'unknown' && !anyNeedle.test(text)) return undefined;
  const writer = isKernel ? (program ?? 'kernel') : program;
  let refused: Refused | undefined;
  for (const { name, writers, parse: read } of formats) {
    const observation = read(text, prefixes);
    if (observation === undefined) continue;
    const isMeant = writer !== undefined && writers.includes(writer) && (isKernel || !onlyByOrigin.has(writer));
    if (origin === 'unknown' || isMeant) return withPolicyName(observation);
    refused ??= { kind: 'refused', format: name, writers };
  }
  return refused;
}

const onlyByOrigin = new Set([...kernel, ...bpf, ...flows, ...ulogd]);

const packetLoggers = new Set(formats.flatMap(({ writers }) => writers));

/** Whether a container of that name writes of packets: what else it writes is no record of kube-proxy or calico-node. */
export function isPacketLogger(container: string | undefined): boolean {
  return container !== undefined && packetLoggers.has(container);
}

/** The API server has checked names of these kinds; loggers may have cut the end of a name off. */
const kubernetesKinds = new Set<string | undefined>([
  undefined,
  'NetworkPolicy',
  'AdminNetworkPolicy',
  'BaselineAdminNetworkPolicy',
  'ClusterNetworkPolicy',
  'EgressFirewall',
  'NetworkPolicy.projectcalico.org',
  'GlobalNetworkPolicy',
  'StagedNetworkPolicy',
  'StagedGlobalNetworkPolicy',
  'StagedKubernetesNetworkPolicy',
  'AntreaNetworkPolicy',
  'AntreaClusterNetworkPolicy',
  'CiliumNetworkPolicy',
  'CiliumClusterwideNetworkPolicy',
]);
const firewallKinds = new Set(['VyOS rule', 'firewalld policy', 'firewalld zone', 'Shorewall chain', 'Proxmox chain']);

/** A chain, a zone, or a chain and a rule of it: `ipv4-FWD-filter 10`. */
const chain = /^[\w.+~-]{1,64}(?: [\w-]{1,32})?$/;

/** Takes away what is no name of a policy, because it would become a part of an Event. The verdict stays. */
export function withPolicyName(observation: Observation): Observation {
  if (observation.kind !== 'packet' || observation.policy === undefined || isPolicyName(observation.policy))
    return observation;
  return { ...observation, policy: undefined };
}

function isPolicyName({ kind, namespace, name, tier }: PolicyName): boolean {
  if (kind !== undefined && firewallKinds.has(kind)) return namespace === undefined && chain.test(name);
  if (!kubernetesKinds.has(kind) || !isSubdomain(uncut(name))) return false;
  return (namespace === undefined || isLabel(uncut(namespace))) && (tier === undefined || isSubdomain(tier));
}

/** A name that was cut off may end with a mark, or with a character that no name ends with. */
function uncut(name: string): string {
  return name.replace(/[.-]?…?$/, '');
}
