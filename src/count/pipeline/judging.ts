/** Finds the target of a failed connection, and whether policies deny it. */
import type { ObjectRef } from '../../base/model/endpoint.ts';
import type { Finding } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import type { PolicyAnswer } from '../../base/model/policy-answer.ts';
import type { PublishedTargets, ServiceTarget } from '../../explain/resolving/resolving.ts';
import type { Decisions } from './decision.ts';
import type { HeldFlow } from './held-flows.ts';
import type { Lookups } from './lookup-queue.ts';
import type { FailureResult } from './statistics.ts';
import type { ReportedConnections } from './reported-connections.ts';

/** Evaluates policies for a connection. */
export interface ConnectionJudge {
  /** Reads the objects that `judge` needs. Never rejects. Undefined if all of them are known. */
  readonly prepare?: ((finding: Finding, at: Millis) => Promise<void>) | undefined;
  /** Returns the verdict; undefined if policies were not read in time, or there is no time to evaluate them. */
  readonly judge: (finding: Finding, at: Millis) => PolicyAnswer | undefined;
  /** Returns the endpoints that may get connections to an address and a port of a Service; undefined if they are more than `most`, or not all are known. */
  readonly targetsOf: (service: ObjectRef, to: ServiceTarget, most: number) => readonly ServiceTarget[] | undefined;
  /** Returns the same of all Services that claim the address and the port, so that the node may lead connections to them; undefined if none does. */
  readonly publishedTargetsOf: (to: ServiceTarget, most: number) => PublishedTargets | undefined;
}

export interface Denial {
  readonly observation: PacketObservation;
  readonly answer: PolicyAnswer;
}

/** `unread`: it has to be judged again. */
export type FlowResult = FailureResult | 'unread' | Denial;

const mostTargets = 16;

export interface JudgingOptions {
  judge: ConnectionJudge;
  decisions: Pick<Decisions, 'meaningOf'>;
  lookups: Lookups | undefined;
}

/** Yields the findings that need policies, before they are evaluated. */
export type Judging = (flow: HeldFlow) => Generator<Finding, FlowResult>;

export function createJudging(
  { judge, decisions, lookups }: JudgingOptions,
  told: Pick<ReportedConnections, 'has'>,
): Judging {
  const { isOwn, targetsOf } = createConnections({ judge, decisions });
  return judging;

  /** If all targets are denied, the first answer counts, because each endpoint of a Service may be the one. */
  function* judging(flow: HeldFlow): Generator<Finding, FlowResult> {
    if (!isOwn(flow)) return 'foreign';
    const { ends: asSent } = decisions.meaningOf(flow.line, flow.observation);
    // The result of an earlier look-up may be outdated.
    if (asSent.destination.kind === 'unknown' && lookups?.remote.startLookups(asSent) === true) return 'unread';
    const { targets, claimed } = targetsOf(flow);
    const [observation] = targets;
    if (observation === undefined) return 'unproven';
    let first: PolicyAnswer | undefined;
    for (const target of targets) {
      if (told.has(flow, targets)) return 'told';
      const { ends, findings } = decisions.meaningOf(flow.line, target);
      const [finding] = findings;
      if (finding === undefined) return 'unproven';
      // While the owner of the address is looked up, no policies would seem to deny it.
      if (lookups?.remote.startLookups(ends) === true) {
        startLookups(flow, targets);
        return 'unread';
      }
      const isUnsure = lookups?.remote.isUnsure(ends.destination) === true;
      const asked = isUnsure ? withUnknownPeer(finding) : finding;
      yield asked;
      const answer = judge.judge(asked, flow.last);
      if (answer === undefined) return 'unread';
      if (answer.verdict.outcome !== 'denies') return isUnsure ? 'unread' : 'unproven';
      // The connection may not have got to the other end, whose policies deny it.
      if (claimed !== undefined && !answer.verdict.isOwn) return 'unproven';
      first ??= answer;
    }
    for (const finding of claimed ?? []) {
      if (finding === undefined) return 'unproven';
      yield finding;
      const answer = judge.judge(finding, flow.last);
      if (answer === undefined) return 'unread';
      if (answer.verdict.outcome !== 'denies') return 'unproven';
    }
    // A line may have come while policies were read.
    return told.has(flow, targets) ? 'told' : { observation, answer: first as PolicyAnswer };
  }

  function startLookups({ line }: HeldFlow, targets: readonly PacketObservation[]): void {
    for (const target of targets) lookups?.remote.startLookups(decisions.meaningOf(line, target).ends);
  }
}

/** Policies deny the connection if they do so for any owner of the address. */
function withUnknownPeer(finding: Finding): Finding {
  const { details } = finding;
  if (details.kind !== 'flow') return finding;
  return { ...finding, details: { ...details, peer: { ...details.peer, kind: 'unknown', object: undefined } } };
}

/** Policies deny the connection if they do so for any address and any port. */
function toAnywhere(finding: Finding): Finding {
  const asked = withUnknownPeer(finding);
  const { details } = asked;
  if (details.kind !== 'flow') return asked;
  return { ...asked, details: { ...details, port: undefined, peer: { ...details.peer, address: '' } } };
}

function createConnections({ judge, decisions }: Pick<JudgingOptions, 'judge' | 'decisions'>) {
  return { isOwn, targetsOf };

  /** Returns whether the source address is that of the Pod whose cgroup has the socket. */
  function isOwn({ pod, line, observation }: HeldFlow): boolean {
    const { kind, object, note } = decisions.meaningOf(line, observation).ends.source;
    return kind === 'pod' && object?.uid === pod && note === undefined;
  }

  /**
   * The sender's socket has the address of a Service, and policies see that of an endpoint. A port of a Node may lead to any endpoint. There
   * are no targets if it is not known to which.
   */
  function targetsOf({ line, observation }: HeldFlow): Targets {
    const { destinationPort = 0 } = observation.packet;
    const { kind, object, address, evidence } = decisions.meaningOf(line, observation).ends.destination;
    const to = { address, port: destinationPort };
    if (kind === 'node') return nowhere;
    // It may be the address of a Service, whose endpoints have other ports.
    if (kind === 'unknown' && evidence !== 'address-range') return nowhere;
    const service = kind === 'service' && object !== undefined ? object : undefined;
    const targets = service === undefined ? [to] : (judge.targetsOf(service, to, mostTargets) ?? []);
    const through = service && `${service.namespace ?? ''}/${service.name}`;
    return {
      targets: targets.map((target) => withTarget(observation, target, through)),
      claimed: claimedOf(judge.publishedTargetsOf(to, mostTargets), line, observation),
    };
  }

  /**
   * Any tenant may claim an address for a Service, with any endpoints. So policies must deny the connection to them as well, but whoever has
   * their addresses: nothing is looked up or read at that tenant's bidding.
   */
  function claimedOf(
    published: PublishedTargets | undefined,
    line: HeldFlow['line'],
    observation: PacketObservation,
  ): Targets['claimed'] {
    const findingOf = (target: PacketObservation): Finding | undefined => decisions.meaningOf(line, target).findings[0];
    const isMany = published === 'many';
    const targets = isMany ? [observation] : published?.map((target) => withTarget(observation, target));
    return targets?.map(findingOf).map((finding) => finding && (isMany ? toAnywhere : withUnknownPeer)(finding));
  }
}

interface Targets {
  /** The connection to each Pod that it may have been for. */
  readonly targets: readonly PacketObservation[];
  /** The connection to each endpoint of Services that claim the address; undefined if none does. */
  readonly claimed: readonly (Finding | undefined)[] | undefined;
}

const nowhere: Targets = { targets: [], claimed: undefined };

function withTarget(
  observation: PacketObservation,
  { address, port }: ServiceTarget,
  service = observation.service,
): PacketObservation {
  return { ...observation, service, packet: { ...observation.packet, destination: address, destinationPort: port } };
}
