/** `kubectl drops why POD`: shows the rules that deny the latest lost packets of a Pod. */
import { canonicalAddress } from '../../base/platform/address.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { at, type Json, text } from '../../base/platform/json.ts';
import type { WhyPodOptions } from '../options/drops-options.ts';
import { nameText, type TargetName } from '../options/target-name.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import type { Streams } from '../terminal.ts';
import { why } from '../why/why.ts';
import { annotationsIn } from './drop-row.ts';
import { withStatus } from './drops.ts';
import { createQuery, type EventQuery, listDrops } from './events.ts';
import { hasPod, sameNameHint } from './selected-pods.ts';
import { apiPath } from './user-cluster.ts';

const mostConnections = 5;

/**
 * Resolves to the worst exit status of `why`: an error (2) wins over denied (1), denied over unknown (3), and unknown over admitted (0).
 * Without a connection that can be asked about: 3, or 2 if there is no such Pod.
 */
export async function whyPod(
  options: WhyPodOptions,
  program: string,
  streams: Pick<Streams, 'out' | 'err'>,
): Promise<number> {
  return await withStatus(program, streams, async () => {
    const { target, output } = options;
    const query = await createQuery(options);
    const { events, leftOut } = await listDrops(query, connectionOf);
    const found = new Map(
      events.toReversed().flatMap(({ kept }) => (kept === undefined ? [] : [[JSON.stringify(kept), kept]])),
    );
    const connections = [...found.values()].slice(0, mostConnections);
    if (connections.length === 0) {
      const { reason, status } = await withoutConnection(query, target, events.length + leftOut);
      streams.err(`${program}: ${reason}. Of any connection: ${program} --from END --to END --port PORT\n`);
      return status;
    }
    const statuses: number[] = [];
    for (const connection of connections) {
      const problem = (await goneText(query, connection.from)) ?? (await goneText(query, connection.to));
      if (problem !== undefined) streams.err(`${program}: ${connectionText(connection)}: ${problem}\n`);
      if (problem !== undefined) continue;
      if (statuses.length > 0 && output === 'text') streams.out('\n');
      const { access } = query;
      const asked = { ...connection, exact: true, files: [], cluster: options, access, output };
      statuses.push(await why(asked, streams, program));
    }
    if (output === 'text' && statuses.length > 0 && statuses.every((status) => status === 0))
      streams.out(`\n${conclusion}  ${program.replace(/ why$/, '')} ${nameText(target)} -o wide\n`);
    return statuses.length === 0 ? 3 : ([2, 1, 3].find((status) => statuses.includes(status)) ?? 0);
  });
}

async function withoutConnection(
  { connection, namespace, filter }: EventQuery,
  target: TargetName,
  events: number,
): Promise<{ reason: string; status: 2 | 3 }> {
  const name = nameText(target);
  // Of a workload that is not there, its Pods could not be listed.
  if (events === 0 && target.kind === 'Pod' && !(await hasPod({ connection, namespace }, target.name))) {
    const where = namespace === undefined ? 'in this cluster' : `in Namespace ${namespace}`;
    const hint = await sameNameHint({ connection, namespace }, target.name);
    return { reason: `${name}: there is no such Pod ${where}, and no Event of the last hour of one${hint}`, status: 2 };
  }
  const what =
    events === 0
      ? `no Event of the last hour is about a packet that this ${target.kind} lost`
      : filter.text === ''
        ? 'no Event names a connection'
        : `no Event names a connection that matches ${filter.text}`;
  return { reason: `${name}: ${what}`, status: 3 };
}

/** Why a connection with this end cannot be evaluated; undefined for a Pod that may not be read, which is tried. */
async function goneText({ connection }: EventQuery, end: NamedEnd): Promise<string | undefined> {
  if (end.kind !== 'pod') return undefined;
  const answer = await connection.request('GET', `${apiPath('/api/v1', end.namespace, 'pods')}/${end.name}`);
  const name = `Pod ${end.namespace}/${end.name}`;
  if (answer.kind === 'refused')
    return answer.status === 404 ? `${name} is gone, and policies are evaluated for Pods that run` : undefined;
  const isFinished = ['Succeeded', 'Failed'].includes(text(at(answer.body, 'status', 'phase')) ?? '');
  return isFinished ? `${name} has finished, and policies are evaluated for Pods that run` : undefined;
}

function connectionText({ from, to, port, protocol }: Connection): string {
  return `${nameOfEnd(from)} → ${nameOfEnd(to)} ${protocol}${port === undefined ? '' : ` ${port}`}`;
}

function nameOfEnd(end: NamedEnd): string {
  return end.kind === 'pod' ? `${end.namespace}/${end.name}` : end.kind === 'address' ? end.address : end.name;
}

const conclusion = `No policy explains these drops now. What remains:
  - a policy that was changed or removed since: the Event may name the one that denied
  - a firewall on that node (firewalld, ufw, own rules), or in the network
  - rules of the network plug-in that are not up to date on the node
  - a connection that conntrack does not know (any more)
The Events, with LOG prefix and node:
`;

type Connection = Pick<WhyOptions, 'from' | 'to' | 'port' | 'protocol'>;

/** Returns undefined if the Event is about an answer, an ICMP error, a scan, or a protocol other than TCP, UDP, SCTP and ICMP. */
function connectionOf(event: Json): Connection | undefined {
  const of = annotationsIn(event);
  const own = podEnd(at(event, 'involvedObject'));
  const [, address] = /^(?:external|unknown)\/(.*)$/.exec(of('peer') ?? '') ?? [];
  const peer = podEnd(at(event, 'related')) ?? addressOf(of('peer-address') ?? address);
  const what = serviceOf(of('protocol'), of('port'));
  if (own === undefined || peer === undefined || what === undefined || of('packet') !== undefined) return undefined;
  return { ...(of('direction') === 'sending' ? { from: own, to: peer } : { from: peer, to: own }), ...what };
}

function serviceOf(protocol = '', port = ''): Pick<Connection, 'port' | 'protocol'> | undefined {
  // `why` knows only ICMP, and takes it for ICMPv6 between addresses of IPv6.
  if (protocol === 'ICMP' || protocol === 'ICMPv6') return { port: undefined, protocol: 'ICMP' };
  const isService = /^(?:TCP|UDP|SCTP)$/.test(protocol) && /^\d{1,5}$/.test(port);
  return isService ? { port: Number(port), protocol } : undefined;
}

function podEnd(reference: Json): NamedEnd | undefined {
  const [namespace = '', name = ''] = [text(at(reference, 'namespace')), text(at(reference, 'name'))];
  if (at(reference, 'kind') !== 'Pod' || !isLabel(namespace) || !isSubdomain(name)) return undefined;
  return { kind: 'pod', namespace, name };
}

function addressOf(given: string | undefined): NamedEnd | undefined {
  const address = canonicalAddress(given ?? '');
  return address === '' ? undefined : { kind: 'address', address };
}
