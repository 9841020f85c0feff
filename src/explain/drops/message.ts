import type { Endpoint } from '../../base/model/endpoint.ts';
import { type EventDetails, type FlowDetails, isSummary, type ScanDetails } from '../../base/model/finding.ts';
import type { IncidentDetails } from '../../base/model/incident.ts';
import { connectFailure } from '../../base/model/packet.ts';
import type { DistinctValues, Series } from '../../base/model/series.ts';
import { isName } from '../../base/platform/address.ts';
import { withoutMarkup } from '../../base/platform/printable.ts';
import { adviseOn } from './advice.ts';
import { ianaName, icmpName, listed, endpointName, policyText } from './names.ts';
import type { PolicyVerdict } from '../../base/model/policy-answer.ts';

const portsOfScan = 16;

/** Users' alert rules match `Packet dropped when receiving traffic from` and `Packet dropped when sending traffic to`. */
export function dropMessage(
  series: Series,
  details: Exclude<EventDetails, IncidentDetails>,
  lowerBound: string,
  answer?: PolicyVerdict,
): string {
  const sentences = sentencesOf(details, series, answer);
  // Escape the whole message at the end, so that no stranger's text is missed.
  return withoutMarkup([...sentences, lowerBound].filter((sentence) => sentence !== '').join(' '));
}

function sentencesOf(
  details: Exclude<EventDetails, IncidentDetails>,
  series: Series,
  answer: PolicyVerdict | undefined,
): string[] {
  if (details.kind === 'flow') return flowSentences(details, series, answer);
  if (details.kind === 'ports') return portsSentences(details.example, series);
  return details.kind === 'overflow'
    ? overflowSentences(details.example, series)
    : scanSentences(details, series, answer);
}

function flowSentences(details: FlowDetails, series: Series, answer: PolicyVerdict | undefined): string[] {
  const own = { namespace: series.finding.regarding.namespace ?? '', node: series.finding.node };
  return [
    `${opening(details)} ${details.error ? reporterOf(details) : `${peerText(details.peer, series.peers)}${whatOf(details)}`}.`,
    // The log's text comes before the advice: if it followed the command there, users could paste a stranger's text with it.
    loggedAt(details, series.finding.node),
    seenAs(details),
    sharedText(details),
    details.ownAddressIsForeign ? `Sent with the source address ${details.ownAddress}, which is not this Pod's.` : '',
    // The evaluated verdict says more than the policy in the LOG prefix.
    decidedBy(answer === undefined || answer.outcome === 'unknown' ? details : { ...details, policy: undefined }),
    adviseOn(details, own, answer),
    details.martian ? '[KN403]' : '',
  ];
}

function seenAs({ logger, service }: FlowDetails): string {
  if (logger !== connectFailure) return '';
  return `Seen from the sender: connections${service === undefined ? '' : ` to Service ${service}`} failed without an answer.`;
}

function sharedText({ sharedWith = [] }: FlowDetails): string {
  if (sharedWith.length === 0) return '';
  return `The log names only the workload, so the Pod may also be ${listed(sharedWith, 0).replace(/, (?=[^,]*$)/, ' or ')}.`;
}

const openings = {
  receiving: 'Packet dropped when receiving traffic from',
  sending: 'Packet dropped when sending traffic to',
} as const;

function opening({ direction }: FlowDetails): string {
  return openings[direction];
}

/** Whether a message is about a packet that the Pod sent, or about several, of which it sent the first. */
export function isAboutSending(message: string): boolean {
  return message.startsWith(openings.sending);
}

/** Returns `Deployment batch/worker (10.1.2.3 and 49 more Pods)`, `shop/db-0 (10.1.2.4)`, `203.0.113.9 (outside the cluster)`. */
function peerText(peer: Endpoint, peers: DistinctValues): string {
  const more = peers.seen.length + peers.past - 1;
  if (peer.workload && more > 0) {
    const { kind, namespace, name } = peer.workload;
    return `${kind} ${namespace}/${name} (${peer.address} and ${peers.past > 0 ? 'over ' : ''}${peers.seen.length - 1} more ${peers.seen.length === 2 ? 'Pod' : 'Pods'})`;
  }
  if (peer.object) return `${endpointName(peer)} (${peer.address}${peer.note === undefined ? '' : `, ${peer.note}`})`;
  if (isName(peer.address)) return namedText(peer.address);
  return peer.note === undefined ? peer.address : `${peer.address} (${peer.note})`;
}

/** An end that the log names in place of its address. */
function namedText(name: string): string {
  if (name.endsWith('*')) return `Pods ${name}`;
  const group = /^(public|private) network$/.exec(name)?.[1];
  if (group === undefined) return `${name} (the log has no address)`;
  return `${group === 'public' ? 'an address outside the cluster' : 'a private address'} (not in the log)`;
}

/** Returns ` on port 443/TCP (https)`, `: ICMP echo request (ping)`, ` over SCTP`. */
function whatOf(details: FlowDetails): string {
  const { protocol, port, reply, laterFragment, icmpType, icmpCode, direction } = details;
  if (port !== undefined) {
    const text = portText(port, details);
    if (!reply) return ` on port ${text}`;
    return direction === 'receiving' ? `: answers from its port ${text}` : `: this Pod's answers from port ${text}`;
  }
  if (icmpType !== undefined) return `: ${protocol} ${icmpName(protocol, icmpType, icmpCode)}`;
  if (protocol === '') return '';
  return ` over ${protocol}${laterFragment ? ' (later fragments, which have no ports)' : ''}`;
}

/** Returns `9090/TCP (metrics)`. The name is the Pod's or Service's own, or else IANA's. */
function portText(port: number, { protocol, portName }: FlowDetails): string {
  const name = portName ?? ianaName(port, protocol);
  return `${port}/${protocol}${name === undefined ? '' : ` (${name})`}`;
}

/** Returns `192.0.2.1, which reports the ICMP error "fragmentation needed" (at most 1400 bytes) about this Pod's traffic to …`. */
function reporterOf(details: FlowDetails): string {
  const { error, peer, port, protocol, reply } = details;
  if (!error) return '';
  const { reporter, mtu } = error;
  const note = reporter.note === undefined ? '' : `, ${reporter.note}`;
  const who = reporter.object ? `${endpointName(reporter)} (${reporter.address}${note})` : reporter.address;
  const about =
    reporter.address === peer.address ? 'it' : peer.object ? `${endpointName(peer)} (${peer.address})` : peer.address;
  const where =
    port === undefined
      ? protocol === ''
        ? ''
        : ` over ${protocol}`
      : reply
        ? ` (answers from port ${portText(port, details)})`
        : ` on port ${portText(port, details)}`;
  return `${who}: ${error.protocol} error "${icmpName(error.protocol, error.type, error.code)}"${mtu ? ` (MTU ${mtu})` : ''} about this Pod's traffic to ${about}${where}`;
}

function decidedBy(details: FlowDetails): string {
  const { verdict, policy } = details;
  const word = verdict === 'rejected' ? 'Rejected' : 'Denied';
  if (policy === undefined) return verdict === 'rejected' ? `${word}.` : '';
  if (!namesMatchOnly(details)) return `${word} by ${policyText(policy)}.`;
  return `Probably ${word.toLowerCase()} by ${policyText(policy)}: its rule matched, but the log does not show the verdict.`;
}

/**
 * After Calico's action Log, and in kube-router (k3s 9032), the next rule or policy may admit the packet. Antrea and OVN log the policy
 * that denied it, without a prefix, and host firewalls name the rule that dropped it.
 */
function namesMatchOnly({ enforcer, prefix }: FlowDetails): boolean {
  return enforcer !== 'host-firewall' && prefix !== '';
}

/** Returns `[node-a, cali08d03b733d8 → eth0, "FINAL_REJECT"]`. If a policy denied, interfaces are left out: they only repeat the Pods. */
function loggedAt({ enforcer, prefix, policy, path, martian }: FlowDetails, node: string): string {
  const label = martian || policy || prefix === '' ? '' : `"${prefix.replace(/(?<![\s:])[\s:]+$/, '')}"`;
  const parts = [node, martian || enforcer === 'network-policy' ? '' : path, label].filter((part) => part !== '');
  return parts.length === 0 ? '' : `[${parts.join(', ')}]`;
}

const none = undefined;
const differing = {
  port: none,
  policy: none,
  refusedBy: none,
  clusterTier: none,
  byNetworkPolicies: none,
  dropReason: none,
};

/** Describes packets of one peer on several ports: a scan by or of this Pod, or a protocol that chooses ports. */
function portsSentences(given: FlowDetails, series: Series): string[] {
  const { finding, peers, ports } = series;
  const example: FlowDetails = { ...given, ...differing };
  const { direction, peer, reply } = example;
  const own = { namespace: finding.regarding.namespace ?? '', node: finding.node };
  const count = ports.seen.length === 1 ? 'port ' : `${ports.past > 0 ? 'over ' : ''}${ports.seen.length} ports: `;
  const answers = direction === 'receiving' ? ': answers from ' : ": this Pod's answers from ";
  return [
    `${opening(example)} ${peerText(peer, peers)}${reply ? answers : ', on '}${count}${listed(ports.seen, ports.past)}.`,
    loggedAt({ ...example, path: '' }, finding.node),
    decidedBy(example),
    reply || ports.seen.length < portsOfScan ? adviseOn(example, own) : scanAdvice(example),
  ];
}

function scanAdvice({ direction, peer }: FlowDetails): string {
  const who = direction === 'sending' ? 'this Pod' : peer.kind === 'pod' ? endpointName(peer) : undefined;
  const look = 'his looks like a port scan, or like FTP or RPC, which choose ports as they go.';
  return who === undefined ? `T${look}` : `Check what ${who} runs: t${look}`;
}

function overflowSentences(example: FlowDetails, series: Series): string[] {
  const { finding, peers, ports } = series;
  const scan = peers.seen.length + peers.past === 1 && ports.seen.length >= portsOfScan;
  return [
    `${openingOfMany(example, series)}.`,
    scan ? `This looks like a port scan${example.direction === 'sending' ? ': check what this Pod runs' : ''}.` : '',
    'Too many different drops for one Event each; this one counts the rest.',
    isSummary(finding) ? summary : 'Start with the other Events of this Pod.',
    ...logged(example, finding.node),
  ];
}

function lookOf({ scan }: Series, { enforcer }: FlowDetails): string {
  const rule = enforcer === 'network-policy' ? 'a policy' : 'a rule';
  if (scan?.look === 'scan') return 'This looks like a scan.';
  if (scan?.look === undefined) return `This looks like a scan, or like monitoring that ${rule} keeps out.`;
  return `This looks like monitoring or a load balancer's health checks that ${rule} keeps out: one port, at a steady pace.`;
}

const summary = 'This is a summary: the Events of these Pods count the same packets and say what to do.';

function scanSentences({ of, example }: ScanDetails, series: Series, answer: PolicyVerdict | undefined): string[] {
  const { finding, peers, ports } = series;
  const { peer } = example;
  const look = lookOf(series, example);
  const ends = logged(example, finding.node);
  if (of === 'target') {
    const place = peer.object?.kind === 'Pod' ? endpointName(peer) : finding.node ? `node ${finding.node}` : 'the node';
    const scanner = peer.kind === 'pod' ? `Check what ${endpointName(peer)} runs.` : '';
    const advice = series.scan?.look === 'scan' ? scanner : targetAdvice(example, series, answer);
    const whole = `Many Pods are tried: see the Event NetworkScan of ${place}.`;
    return [`${openingOfMany(example, series)}.`, ...ends, look, whole, advice];
  }
  if (of === 'scanner') {
    const check = series.scan?.look === 'monitoring' ? '' : 'Check what this Pod runs.';
    const where = 'Pods among them have Events of their own, which count their packets.';
    return [`${openingOfMany(example, series)}.`, check, look, where, ...ends];
  }
  const count = `${peers.past > 0 ? 'over ' : ''}${peers.seen.length} ${peers.seen.length === 1 ? 'Pod' : 'Pods'}`;
  const which = `${count} of this node were dropped (${listed(peers.seen, peers.past)})${portsText(ports)}`;
  return [`Packets from ${peerText(peer, aloneAs(peer))} to ${which}.`, look, summary, ...ends];
}

/** Returns advice that fits all packets, or the verdict of policies about the named peer. */
function targetAdvice(example: FlowDetails, { finding, peers }: Series, answer: PolicyVerdict | undefined): string {
  const own = { namespace: finding.regarding.namespace ?? '', node: finding.node };
  if (answer === undefined) return adviseOn({ ...example, policy: undefined, refusedBy: undefined }, own);
  return `${peers.seen.length > 1 ? `For ${example.peer.address}: ` : ''}${adviseOn(example, own, answer)}`;
}

/** Leaves out path and policy, because the packets may differ in them. */
function logged(example: FlowDetails, node: string): string[] {
  const bare: FlowDetails = { ...example, path: '', policy: undefined };
  return [decidedBy(bare), loggedAt(bare, node)];
}

/** Returns `Packet dropped when receiving traffic from 203.0.113.9 (outside the cluster) and 3 other peers, on ports 22/TCP and 80/TCP`. */
function openingOfMany(example: FlowDetails, { peers, ports }: Series): string {
  const others = peers.seen.length + peers.past - 1;
  const more =
    others === 0
      ? ''
      : ` and ${peers.past > 0 ? 'over ' : ''}${others === 1 ? '1 other peer' : `${peers.seen.length - 1} other peers`}`;
  return `${opening(example)} ${peerText(example.peer, aloneAs(example.peer))}${more}${portsText(ports)}`;
}

function portsText({ seen, past }: DistinctValues): string {
  if (seen.length === 0) return '';
  return `, on ${seen.length === 1 ? 'port' : 'ports'} ${listed(seen, past)}`;
}

function aloneAs({ address }: Endpoint): DistinctValues {
  return { seen: [address], past: 0 };
}
