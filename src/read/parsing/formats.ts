import { parseConnectFailure } from './connect-failure.ts';
import type { Observation } from '../../base/model/observation.ts';
import {
  parseConntrackFull,
  parseIpvs,
  parseJournald,
  parseMartian,
  parseNeighbourOverflow,
  parseSuppressed,
} from './kernel.ts';
import { parseKernelDrop } from './kernel-drop.ts';
import { parseAws, parseNfqueue } from './policy-loggers/agents.ts';
import { parseCalicoBpf, parseCalicoFlow } from './policy-loggers/calico.ts';
import { parseGke, parseHubble } from './policy-loggers/cilium.ts';
import { parseAntrea, parseOvn, parseWeave } from './policy-loggers/plug-ins.ts';
import { isWithinText, parseNetfilter, parseUlogd } from './netfilter/netfilter.ts';
import type { PrefixTable } from './netfilter/prefixes.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { connectFailure, kernelDrop, type PolicyName } from '../../base/model/packet.ts';

/** One kind of line. To add one, write a parser, a row here and a line of the corpus (CONTRIBUTING.md). */
export interface Format {
  name: string;
  /** Every line of the format contains one of these literals. Blocks are searched for them before lines are cut. */
  needles: readonly string[];
  /** The kernel, programs by their names in syslog and journald, or containers. Other writers are refused; a line without a writer is accepted. */
  writers: readonly string[];
  /** Returns undefined for another format, `unparsable` for a damaged line of this one. Never throws; takes linear time. */
  parse: (text: string, prefixes: PrefixTable) => Observation | undefined;
  /** Returns whether a line that `parse` accepts is quoted in another text, so that it is not read. */
  isWithinText?: (text: string) => boolean;
}

export interface FormatRefusal {
  kind: 'refused';
  format: string;
  writers: readonly string[];
}

const ulogd = ['ulogd', 'ulogd2'];
const kernel = ['kernel'];
const kernelOrUlogd = [...kernel, ...ulogd];
/** BPF programs, which print to a trace of the kernel. */
const bpf = ['bpf'];
const flows = ['calico-flows'];

const drops = ['kernel-drops'];

/** The order counts: a line has the first format that can read it and whose writers may have written it. */
export const formats: readonly Format[] = [
  { name: 'netfilter', needles: ['IN='], writers: kernelOrUlogd, parse: parseNetfilter, isWithinText },
  { name: 'ulogd', needles: ['"oob.prefix"', '"oob.family"'], writers: ulogd, parse: parseUlogd },
  { name: 'conntrack', needles: ['conntrack: table full'], writers: kernel, parse: parseConntrackFull },
  { name: 'neighbour', needles: ['table overflow'], writers: kernel, parse: parseNeighbourOverflow },
  { name: 'ipvs', needles: ['no destination available'], writers: kernel, parse: parseIpvs },
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
  { name: kernelDrop, needles: ['(skb.kfree_skb) '], writers: drops, parse: parseKernelDrop },
  {
    name: connectFailure,
    needles: ['(sock.inet_sock_set_state) '],
    writers: drops,
    parse: parseConnectFailure,
  },
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

/** journald writes a message that is not UTF-8 as an array of bytes, where no other needle can be found. */
const byteArrayMessage = ['"MESSAGE":[', '"MESSAGE": [', '"MESSAGE" : ['];

/** Every line that a format may accept contains one of these, even inside an envelope. */
export const needlesOfAll: readonly string[] = [...formats.flatMap((format) => format.needles), ...byteArrayMessage];

/** This is checked first, because trying all formats on other lines took a third of the time. */
const anyNeedle = new RegExp(
  formats.flatMap(({ needles }) => needles.map((needle) => RegExp.escape(needle))).join('|'),
);

/** Returns undefined if no format matches. Names of the kernel and ulogd, which any program can use, need the origin `kernel`. */
export function parse(
  text: string,
  prefixes: PrefixTable,
  origin = 'unknown',
  program?: string,
): Observation | FormatRefusal | undefined {
  const isKernel = origin === 'kernel';
  // A Pod's line may have any format that Pods write.
  const isUnnamed = origin === 'unknown' || origin === 'pod';
  if (!isKernel && !isUnnamed && !anyNeedle.test(text)) return undefined;
  const writer = isKernel ? (program ?? 'kernel') : program;
  let refused: FormatRefusal | undefined;
  for (const { name, writers, parse: read, isWithinText: isWithin } of formats) {
    const observation = read(text, prefixes);
    if (observation === undefined) continue;
    if (isUnnamed && ofKernel.has(writers) && (origin === 'pod' || isWithinJson(text))) {
      refused ??= { kind: 'refused', format: name, writers };
      continue;
    }
    const isMeant = writer !== undefined && writers.includes(writer) && (isKernel || !onlyByOrigin.has(writer));
    if (isUnnamed || isMeant) return isWithin?.(text) === true ? undefined : withPolicyName(observation);
    refused ??= { kind: 'refused', format: name, writers };
  }
  return refused;
}

/** The writers of formats that are text of the kernel. */
const ofKernel = new Set(formats.flatMap(({ writers }) => (writers.includes('kernel') ? [writers] : [])));

/**
 * Returns whether the text is JSON, or a piece of it. The kernel writes no JSON, so a program has written the quoted line. Only the
 * beginning counts, up to the first possible word of the kernel.
 */
function isWithinJson(text: string): boolean {
  return (
    /^\s{0,64}(?:\{|\[(?:\s{0,64}\{)?)\s{0,64}"/.test(text.slice(0, 256)) ||
    /"[^"]{0,128}"\s{0,8}:/.test(text.slice(0, 1024))
  );
}

const onlyByOrigin = new Set([...kernel, ...bpf, ...flows, ...drops, ...ulogd]);

const packetLoggers = new Set(formats.flatMap(({ writers }) => writers));

/** Returns whether the container logs packets. Such a container writes no records of kube-proxy or calico-node. */
export function isPacketLogger(container: string | undefined): boolean {
  return container !== undefined && packetLoggers.has(container);
}

/**
 * Returns whether a program that logs packets has written the text. Kernel text is not, because any program can quote it.
 */
export function isPacketRecord(text: string, prefixes: PrefixTable): boolean {
  if (!anyNeedle.test(text)) return false;
  const ofPrograms = formats.filter(({ writers }) => !writers.some((writer) => onlyByOrigin.has(writer)));
  return ofPrograms.some(({ parse: read }) => read(text, prefixes) !== undefined);
}

/** Kinds whose names the API server has checked. Loggers may have truncated the names. */
const kubernetesKinds = new Set<string | undefined>([
  undefined,
  'NetworkPolicy',
  'AdminNetworkPolicy',
  'BaselineAdminNetworkPolicy',
  'ClusterNetworkPolicy',
  'EgressFirewall',
  'Subnet',
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

/** Removes an invalid name of a policy, because the name would become part of an Event. */
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

/** Removes the end of a name that was cut off: a mark, or a character that no name ends with. */
function uncut(name: string): string {
  return name.replace(/[.-]?…?$/, '');
}
