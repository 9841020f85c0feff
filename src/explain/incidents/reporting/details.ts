import { objectKey, type ObjectRef } from '../../../base/model/endpoint.ts';
import type { Finding } from '../../../base/model/finding.ts';
import type { Backend, IncidentDetails, NamedService, NodeFacts, ServiceChains } from '../../../base/model/incident.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { causeOf, diagnose } from '../catalogue/catalogue.ts';
import { type Incident, incidentKey } from '../incident.ts';
import { incidentForReaders } from './for-readers.ts';

export interface NodeContext {
  node: string;
  /** Until the API server has answered, only the Node's name is known. */
  nodeRef: () => ObjectRef;
  chains: ServiceChains;
  podsHere: () => readonly AffectedPod[];
}

type Phase = IncidentDetails['phase'];
type RelatedObjects = Pick<IncidentDetails, 'services' | 'moreServices' | 'affected'>;

/** How often services and Pods are looked up. A program may fail hundreds of times a second, and each look-up is slow. */
const lookEvery: Millis = 1000;

export interface FindingBuilder {
  full(incident: Incident, facts: NodeFacts, phase: Phase, objects?: readonly ObjectRef[]): Finding[];
  podNotice: (incident: Incident, facts: NodeFacts, phase: Phase, object: ObjectRef) => Finding;
}

export function createFindingBuilder(context: NodeContext): FindingBuilder {
  const { node, nodeRef } = context;
  const seen = new Map<string, { second: number; subjects: number; facts: NodeFacts; around: RelatedObjects }>();

  return {
    full(incident: Incident, facts: NodeFacts, phase: Phase, objects?: readonly ObjectRef[]): Finding[] {
      const around = phase === 'open' ? lookAgain(incident, facts) : lookAround(incident, facts, context);
      const details: IncidentDetails = { role: 'full', phase, ...detailsOf(incident, facts), ...around };
      const { severity, reason, overReason } = causeOf(details.diagnosis);
      const here = nodeRef();
      const services = severity === 'warning' ? [] : details.services.map(({ object }) => object);
      return distinctObjects(objects ?? [incident.failingPod ?? here, here, ...services]).map((object): Finding => {
        const shared = object.kind === 'Service';
        const readers = { namespace: shared ? object.namespace : undefined };
        return {
          identity: identityOf(phase, details.diagnosis, incident, object, shared ? '' : node),
          reason: phase === 'open' ? reason : overReason,
          type: phase === 'open' ? 'Warning' : 'Normal',
          regarding: object,
          related: object.kind === 'Node' ? incident.failingPod : here,
          node,
          shared: shared ? true : undefined,
          details: incidentForReaders(details, readers, context.chains),
        };
      });
    },
    podNotice: (incident: Incident, facts: NodeFacts, phase: Phase, object: ObjectRef): Finding => ({
      // The Event's name is derived from this text, so the word must not change.
      identity: identityOf(`${phase} pointer`, incident.code, incident, object, node),
      reason: phase === 'open' ? 'NodeNetworkDegraded' : 'NodeNetworkRecovered',
      type: phase === 'open' ? 'Warning' : 'Normal',
      regarding: object,
      related: nodeRef(),
      node,
      details: {
        role: 'pod-notice',
        phase,
        ...detailsOf(incident, facts),
        ...lookAround(incident, facts, context),
      },
    }),
  };

  function lookAgain(incident: Incident, facts: NodeFacts): RelatedObjects {
    const key = incidentKey(incident);
    const second = Math.floor(incident.last / lookEvery);
    const subjects = incident.subjects.length;
    const known = seen.get(key);
    if (known?.second === second && known.subjects === subjects && known.facts === facts) return known.around;
    const around = lookAround(incident, facts, context);
    seen.set(key, { second, subjects, facts, around });
    return around;
  }
}

export function affectedPods(incident: Incident, facts: NodeFacts, podsHere: NodeContext['podsHere']): AffectedPod[] {
  if (causeOf(diagnose(incident.code, facts, incident)).impact === undefined) return [];
  const all = affectedPodsOf(podsHere());
  // Only the Pod in this network namespace uses the full table.
  return facts.namespacePod === undefined ? all : all.filter(({ uid }) => uid === facts.namespacePod);
}

function lookAround(incident: Incident, facts: NodeFacts, { chains, podsHere }: NodeContext): RelatedObjects {
  const { services, more } = servicesOf(incident.subjects, chains);
  const affected = affectedPods(incident, facts, podsHere);
  const names = affected.slice(0, 3).map(({ namespace, name }) => `${namespace}/${name}`);
  return { services, moreServices: more, affected: { count: affected.length, names } };
}

function detailsOf(
  incident: Incident,
  facts: NodeFacts,
): Omit<IncidentDetails, 'role' | 'phase' | 'services' | 'moreServices' | 'affected'> {
  const { code, failing, failingPod, first, last, failures, ended, endedBy, restarts, quote } = incident;
  return {
    kind: 'incident',
    code,
    diagnosis: diagnose(code, facts, incident),
    failing,
    failingPod: failingPod === undefined ? undefined : `${failingPod.namespace}/${failingPod.name}`,
    since: first,
    last,
    failures,
    endedBy,
    ended,
    families: [...incident.families],
    subjects: [...incident.subjects],
    moreSubjects: incident.moreSubjects,
    restarts,
    quote,
    facts,
  };
}

export function distinctObjects(objects: readonly ObjectRef[]): ObjectRef[] {
  const keys = objects.map((object) => `${object.kind} ${objectKey(object)}`);
  return objects.filter((_, i) => keys.indexOf(keys[i] ?? '') === i);
}

/** Returns the same text when an incident comes back. Otherwise a problem that comes and goes would make new Events all the time. */
function identityOf(what: string, code: string, { failing }: Incident, object: ObjectRef, node: string): string {
  return ['incident', what, code, failing, objectKey(object), node].join('|');
}

/** The most Services that are named, and that get an Event. */
export const serviceLimit = 8;
const backendLimit = 3;

export function servicesOf(
  subjects: readonly string[],
  { ownerOf, backendsOf }: ServiceChains,
): { services: NamedService[]; more: number } {
  const named = new Map<string, NamedService>();
  const more = new Set<string>();
  for (const subject of subjects) {
    const owner = ownerOf(subject);
    if (owner === undefined) continue;
    const { service, port, deleted } = owner;
    const key = `${service.namespace}/${service.name}`;
    const known = named.get(key);
    if (known !== undefined) {
      if (!known.ports.includes(port)) known.ports.push(port);
    } else if (named.size < serviceLimit) {
      const backends = backendsOf(service.namespace ?? '', service.name);
      named.set(key, {
        object: service,
        ports: [port],
        backends: backends.slice(0, backendLimit).map(nameOf),
        moreBackends: Math.max(0, backends.length - backendLimit),
        deleted,
      });
    } else more.add(key);
  }
  return { services: [...named.values()], more: more.size };
}

function nameOf({ pod, address, node }: Backend): string {
  const name = pod === undefined ? address : `${pod.namespace}/${pod.name}`;
  return node === undefined ? name : `${name} on ${node}`;
}

export interface AffectedPod {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  hostNetwork: boolean;
  running: boolean;
  problem: 'restarting' | 'unready' | undefined;
}

export interface NotifiedPod {
  object: ObjectRef;
  at: Millis;
}

/** The most Pods that are notified of one incident. The Node's Events count all of them. */
export const podNoticeLimit = 20;
/** Unhealthy Pods are notified soon. Others follow over minutes, because all nodes may send notices at once. */
const unhealthySpacing: Millis = 1000;
const spacing: Millis = 15_000;
/** How long the API server keeps an Event. */
const lifetime: Millis = 3_600_000;

/** Returns running Pods with their own network: unhealthy ones first, then by uid, so that nodes do not all begin with the same Pods. */
export function affectedPodsOf(pods: readonly AffectedPod[]): AffectedPod[] {
  return pods
    .filter(({ hostNetwork, running }) => running && !hostNetwork)
    .toSorted((a, b) => rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1));
}

export interface NextPodNotice {
  pod: AffectedPod;
  at: Millis;
  /** The uid of a deleted Pod that the new one replaces in the list. */
  inPlaceOf: string | undefined;
}

/**
 * The notice goes to a further Pod, or to a notified one again after an hour. Deleted Pods stay listed as long, so that replaced ones do
 * not cause more and more Events.
 */
export function nextPodNotice(
  affected: readonly AffectedPod[],
  notifiedPods: Readonly<Record<string, NotifiedPod>>,
  since: Millis,
): NextPodNotice | undefined {
  const notified = Object.entries(notifiedPods);
  const latest = notified.reduce((last, [, { at }]) => Math.max(last, at), since);
  const first = affected.find(({ uid }) => notifiedPods[uid] === undefined);
  const at = latest + (first?.problem === undefined ? spacing : unhealthySpacing);
  if (first !== undefined && notified.length < podNoticeLimit) return { pod: first, at, inPlaceOf: undefined };
  const here = new Map(affected.map((pod) => [pod.uid, pod]));
  const steps = notified.flatMap(([uid, { at: before }]): NextPodNotice[] => {
    const pod = here.get(uid);
    if (pod !== undefined) return [{ pod, at: Math.max(before + lifetime, latest + spacing), inPlaceOf: undefined }];
    return first === undefined ? [] : [{ pod: first, at: Math.max(before + lifetime, at), inPlaceOf: uid }];
  });
  return steps.toSorted((a, b) => a.at - b.at)[0];
}

function rank({ problem }: AffectedPod): number {
  if (problem === 'restarting') return 0;
  return problem === 'unready' ? 1 : 2;
}
