import type { Observation } from '../model/observation.ts';
import {
  parseConntrackFull,
  parseJournald,
  parseMartian,
  parseNeighbourOverflow,
  parseSuppressed,
} from './kernel-warnings.ts';
import { parseAws, parseNfqueue } from './policy-loggers/agents.ts';
import { parseCalicoBpf, parseCalicoFlow } from './policy-loggers/calico.ts';
import { parseGke, parseHubble } from './policy-loggers/cilium.ts';
import { parseKernelDrop } from './policy-loggers/kernel-drop.ts';
import { parseAntrea, parseOvn, parseWeave } from './policy-loggers/plug-ins.ts';
import { parseNetfilter, parseUlogd } from './netfilter/netfilter.ts';
import type { PrefixTable } from './netfilter/prefixes.ts';
import { isLabel, isSubdomain } from '../platform/api-names.ts';
import { kernelDrop, type PolicyName } from '../model/packet.ts';

/** One kind of line. A new one is a parser, a row here and a line of the corpus (CONTRIBUTING.md). */
export interface Format {
  name: string;
  /** One of these literals stands in every such line. Blocks are searched for them before lines are cut: long ones cost next to nothing. */
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
/** What BPF programs print to a trace of the kernel. */
const bpf = ['bpf'];
const flows = ['calico-flows'];

/** The kernel, through the agent's own probe. */
const drops = ['kernel-drops'];

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
  { name: kernelDrop, needles: ['(skb.kfree_skb) reason='], writers: drops, parse: parseKernelDrop },
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

/** Programs write much beside packets: trying all formats on every line took a third of its cost (`npm run bench -- incidents`). */
const anyNeedle = new RegExp(
  formats.flatMap(({ needles }) => needles.map((needle) => RegExp.escape(needle))).join('|'),
);

/** Returns undefined for no format. Any program can take the kernel's and ulogd's names, so these count only with the origin `kernel`. */
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

const onlyByOrigin = new Set([...kernel, ...bpf, ...flows, ...drops, ...ulogd]);

const packetLoggers = new Set(formats.flatMap(({ writers }) => writers));

/** A container that writes of packets writes no records of kube-proxy or calico-node. */
export function isPacketLogger(container: string | undefined): boolean {
  return container !== undefined && packetLoggers.has(container);
}

/** The API server has checked the names of these kinds, but loggers may have cut them off. */
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

/** Matches a chain, a zone, or a chain and a rule of it: `ipv4-FWD-filter 10`. */
const chain = /^[\w.+~-]{1,64}(?: [\w-]{1,32})?$/;

/** Takes away what is no name of a policy, because it would become a part of an Event. */
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
