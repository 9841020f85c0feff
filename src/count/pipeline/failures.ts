/**
 * Holds connections of Pods that failed without an answer. Only a few of them fail because of a policy, so one counts as a drop only if
 * the known policies deny it, at either end, and if no other line tells of it. Of all others, only a number is kept.
 */
import type { Endpoint, ObjectRef } from '../../base/model/endpoint.ts';
import type { Finding } from '../../base/model/finding.ts';
import { flowKey } from '../../base/model/flow-identity.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { ConnectFailure } from '../../base/model/observation.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import type { PolicyAnswer } from '../../base/model/policy-answer.ts';
import { createTimer, schedule as systemSchedule } from '../../base/platform/timer.ts';
import type { ServiceTarget } from '../../explain/resolving/resolving.ts';
import type { Decision, Decisions } from './decision.ts';
import type { Lookups, QueuedFlow } from './lookup-queue.ts';
import type { FlowMeaning } from './meaning.ts';
import type { FailureResult } from './statistics.ts';
import { createTold } from './told-connections.ts';

/** Who knows what policies decide about a connection. */
export interface ConnectionJudge {
  /** Reads what `judge` needs. Never rejects. Undefined if all that can be known is known. */
  readonly prepare?: ((finding: Finding, at: Millis) => Promise<void>) | undefined;
  /** Returns what policies say; undefined if they were not read in time, or there is no time to evaluate them. */
  readonly judge: (finding: Finding, at: Millis) => PolicyAnswer | undefined;
  /** Returns the ready endpoints behind an address and a port of a Service; undefined if they are more than `most`, or not all are known. */
  readonly targetsOf: (service: ObjectRef, to: ServiceTarget, most: number) => readonly ServiceTarget[] | undefined;
  /** Returns whether the node may lead connections to that address to endpoints of a Service. */
  readonly isPublished: (address: string) => boolean;
}

export interface FailuresOptions {
  judge: ConnectionJudge;
  decisions: Pick<Decisions, 'meaningOf'>;
  /** If undefined, each is judged at once. */
  lookups: Lookups | undefined;
  /** Whether connections that fail may be told of. If it is false, other lines are only noted from the first one on. */
  hasKernelDrops?: boolean | undefined;
  /** Counts connections that policies deny. `answer`: what these say. */
  denied: (flow: QueuedFlow, answer: PolicyAnswer) => void;
  count: (result: FailureResult, connections: number) => void;
}

export interface Failures {
  take: (line: LogLine, failure: ConnectFailure) => void;
  /** Notes that this line tells of a packet, so that its connection does not count again. */
  note: (decision: Decision | undefined, time: Millis) => void;
  stop: () => void;
}

interface HeldFlow extends QueuedFlow {
  observation: PacketObservation;
  pod: string;
  sourcePorts: Set<number | undefined>;
  /** How often it was judged while policies or an owner were not known yet, or without time for the policies. */
  tries: number;
}

/** Other lines of the same packets come meanwhile, and owners of addresses are looked up. */
const holdFor: Millis = 3000;
const most = {
  flows: 4096,
  flowsOfPod: 128,
  sourcePorts: 64,
  targets: 16,
  /** For two minutes: policies and owners come late after a start, and where a verdict takes long, the time for verdicts is used up. */
  tries: 40,
};

export function createFailures(options: FailuresOptions): Failures {
  const { judge, decisions, lookups, count } = options;
  const held = createHeldFlows();
  const told = createTold();
  let isNoting = options.hasKernelDrops !== false;
  const connections = createConnections(options);
  const timer = lookups && createTimer(lookups.schedule ?? systemSchedule, lookups.now, () => void judgeDue());
  let isJudging = false;
  let isStopped = false;

  return {
    take(line, failure) {
      isNoting = true;
      const { time } = line;
      const { connection } = failure;
      const flow: HeldFlow = {
        line: { ...line, text: '' },
        observation: connection,
        pod: failure.pod,
        sourcePorts: new Set([connection.packet.sourcePort]),
        tries: 0,
        weight: 1,
        first: time,
        last: time,
        since: lookups?.now() ?? time,
      };
      if (lookups === undefined) return settle(flow);
      const taken = held.take(flow);
      if (taken === 'overflowed') return count('overflowed', 1);
      if (taken === 'new' && lookups.isSynced())
        for (const observation of connections.targetsOf(flow))
          lookups.remote.startLookups(decisions.meaningOf(flow.line, observation).ends);
      timer?.setEarliest(holdFor);
    },
    note(decision, time) {
      if (isNoting) told.note(decision, time);
    },
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };

  async function judgeDue(): Promise<void> {
    if (isJudging || lookups === undefined) return;
    isJudging = true;
    const latest = lookups.now() - holdFor;
    // Before the lists are there, no address has an owner.
    for (let flow = next(); flow !== undefined; flow = next()) {
      for (const { finding } of connections.of(flow) ?? []) await judge.prepare?.(finding, flow.last);
      // What was looked up meanwhile is known now.
      if (!isStopped) settle(flow);
    }
    isJudging = false;
    if (held.size > 0 && !isStopped) timer?.setEarliest(holdFor / 4);

    function next(): HeldFlow | undefined {
      return isStopped || lookups?.isSynced() !== true ? undefined : held.takeOldest(latest);
    }
  }

  function settle(flow: HeldFlow): void {
    const result = resultOf(flow);
    if (result === 'unread' && lookups !== undefined && ++flow.tries < most.tries) {
      flow.since = lookups.now();
      if (held.take(flow) === 'overflowed') count('overflowed', flow.weight);
      return;
    }
    if (typeof result === 'string') return count(result === 'unread' ? 'unproven' : result, flow.weight);
    const { line, weight, first, last, since } = flow;
    options.denied({ line, observation: result.observation, weight, first, last, since }, result.answer);
    count('denied', weight);
  }

  function resultOf(
    flow: HeldFlow,
  ): FailureResult | 'unread' | { observation: PacketObservation; answer: PolicyAnswer } {
    const all = connections.of(flow);
    if (all === undefined) return 'foreign';
    const [first] = all;
    if (first === undefined) return 'unproven';
    if (told.has(flow, all)) return 'told';
    // While it is looked up who has the address, it looks as if nobody's policies denied it.
    if (all.some(({ ends }) => lookups?.remote.startLookups(ends) === true)) return 'unread';
    const answer = denialOf(all.map(({ finding }) => judge.judge(finding, flow.last)));
    return typeof answer === 'string' ? answer : { observation: first.observation, answer };
  }
}

/** Returns the first answer if all deny, because each endpoint of a Service may be the one. */
function denialOf(answers: readonly (PolicyAnswer | undefined)[]): PolicyAnswer | 'unproven' | 'unread' {
  if (answers.some((each) => each !== undefined && each.verdict.outcome !== 'denies')) return 'unproven';
  const [first] = answers;
  return first === undefined || answers.includes(undefined) ? 'unread' : first;
}

/** The room is shared, so that no Pod fills it with connections to thousands of ports. */
function createHeldFlows() {
  const held = new Map<string, HeldFlow>();
  const flowsOfPods = new Map<string, number>();
  return {
    get size(): number {
      return held.size;
    },
    take(flow: HeldFlow): 'new' | 'joined' | 'overflowed' {
      const key = flowKey(flow.observation);
      const known = held.get(key);
      if (known !== undefined) {
        join(known, flow);
        return 'joined';
      }
      const ofPod = flowsOfPods.get(flow.pod) ?? 0;
      if (held.size >= most.flows || ofPod >= most.flowsOfPod) return 'overflowed';
      held.set(key, flow);
      flowsOfPods.set(flow.pod, ofPod + 1);
      return 'new';
    },
    /** Takes out the oldest flow, if it is held since `latest` or longer. */
    takeOldest(latest: Millis): HeldFlow | undefined {
      const [oldest] = held;
      if (oldest === undefined || oldest[1].since > latest) return undefined;
      const [key, flow] = oldest;
      held.delete(key);
      const others = (flowsOfPods.get(flow.pod) ?? 1) - 1;
      if (others === 0) flowsOfPods.delete(flow.pod);
      else flowsOfPods.set(flow.pod, others);
      return flow;
    },
  };
}

function join(flow: HeldFlow, { weight, first, last, sourcePorts }: HeldFlow): void {
  flow.weight += weight;
  flow.first = Math.min(flow.first, first);
  flow.last = Math.max(flow.last, last);
  for (const port of sourcePorts) if (flow.sourcePorts.size < most.sourcePorts) flow.sourcePorts.add(port);
}

function createConnections({ judge, decisions }: Pick<FailuresOptions, 'judge' | 'decisions'>) {
  return { of, targetsOf };

  /** Returns what the connection means for each Pod that it may have been for; undefined if its source address is not the Pod's. */
  function of(flow: HeldFlow): readonly JudgedConnection[] | undefined {
    const { ends } = decisions.meaningOf(flow.line, flow.observation);
    if (!isOf(flow.pod, ends.source)) return undefined;
    return targetsOf(flow).flatMap((observation) => {
      const { ends: both, findings } = decisions.meaningOf(flow.line, observation);
      const [finding] = findings;
      return finding === undefined ? [] : [{ observation, ends: both, finding }];
    });
  }

  /**
   * The sender's socket has the address of a Service, and policies see that of an endpoint. A port of a Node, or another published address,
   * may lead to any endpoint. Returns nothing if it is not known to which.
   */
  function targetsOf({ line, observation }: HeldFlow): PacketObservation[] {
    const { destinationPort = 0 } = observation.packet;
    const { kind, object, address } = decisions.meaningOf(line, observation).ends.destination;
    if (kind === 'node' || (kind === 'external' && judge.isPublished(address))) return [];
    if (kind !== 'service' || object === undefined) return [observation];
    const service = `${object.namespace ?? ''}/${object.name}`;
    const targets = judge.targetsOf(object, { address, port: destinationPort }, most.targets) ?? [];
    return targets.map((target) => withTarget(observation, target, service));
  }
}

function withTarget(
  observation: PacketObservation,
  { address, port }: ServiceTarget,
  service: string,
): PacketObservation {
  return { ...observation, service, packet: { ...observation.packet, destination: address, destinationPort: port } };
}

interface JudgedConnection {
  observation: PacketObservation;
  ends: FlowMeaning['ends'];
  finding: FlowMeaning['findings'][number];
}

function isOf(pod: string, { kind, object, note }: Endpoint): boolean {
  return kind === 'pod' && object?.uid === pod && note === undefined;
}
