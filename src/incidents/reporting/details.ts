import type { ObjectRef } from '../../model/endpoint.ts';
import type { Finding } from '../../model/finding.ts';
import type { IncidentDetails, NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import type { ServiceChains } from '../../model/service-chain.ts';
import { objectKey } from '../../model/object-key.ts';
import type { Incident } from '../incident.ts';
import { type AffectedPod, affectedPodsOf } from './pod-notices.ts';
import { keyOf } from '../tracker/state.ts';
import { servicesOf } from '../tracker/subjects.ts';

/** What the catalogue says of a cause, as far as it decides who is told. */
export interface EventTerms {
  severity: 'serious' | 'warning';
  reason: string;
  overReason: string;
  /** Whether the Pods of the node suffer. */
  impact: boolean;
}

export interface IncidentDetailsOptions {
  node: string;
  /** The Node as the API server has it; by its name alone as long as it is not known. */
  nodeRef: () => ObjectRef;
  termsOf: (code: string) => EventTerms;
  diagnose: (incident: Incident, facts: NodeFacts) => string;
  chains: ServiceChains;
  podsHere: () => readonly AffectedPod[];
}

/** What is told of an incident, by what was found out about it. */
export interface IncidentDetailsBuilder {
  /** The whole story on all that it is about, or on `told`. */
  whole: (
    incident: Incident,
    facts: NodeFacts,
    phase: IncidentDetails['phase'],
    told?: readonly ObjectRef[],
  ) => Finding[];
  /** A short one on a Pod. */
  pointer: (
    incident: Incident,
    facts: NodeFacts,
    phase: IncidentDetails['phase'],
    pod: { object: ObjectRef; troubled: boolean },
  ) => Finding;
  /** Pods that it hits, those in trouble first. */
  affectedPods: (incident: Incident, facts: NodeFacts) => AffectedPod[];
}

type Surroundings = Pick<IncidentDetails, 'services' | 'moreServices' | 'affected'>;

/** A program may fail hundreds of times a second; what is around it does not change as often, and is much to look through. */
const lookEvery: Millis = 1000;

export function createIncidentDetails(options: IncidentDetailsOptions): IncidentDetailsBuilder {
  const { node, nodeRef, termsOf } = options;
  const seen = new Map<string, { second: number; subjects: number; facts: NodeFacts; surroundings: Surroundings }>();

  return {
    affectedPods,
    whole(incident, facts, phase, told) {
      const around = phase === 'open' ? lookAgain(incident, facts) : look(incident, facts);
      const details = detailsOf(incident, facts, around, phase, 'full');
      const { severity, reason, overReason } = termsOf(details.diagnosis);
      const here = nodeRef();
      const services = severity === 'warning' ? [] : details.services.map(({ object }) => object);
      return distinct(told ?? [incident.failingPod ?? here, here, ...services]).map((object): Finding => {
        const shared = object.kind === 'Service';
        return {
          identity: identityOf(phase, details.diagnosis, incident, object, shared ? '' : node),
          reason: phase === 'open' ? reason : overReason,
          type: phase === 'open' ? 'Warning' : 'Normal',
          regarding: object,
          related: object.kind === 'Node' ? incident.failingPod : here,
          node,
          shared: shared ? true : undefined,
          details,
        };
      });
    },
    pointer: (incident, facts, phase, { object, troubled }) => ({
      identity: identityOf(`${phase} pointer`, incident.code, incident, object, node),
      reason: phase === 'open' ? 'NodeNetworkDegraded' : 'NodeNetworkRecovered',
      // A Pod that runs well need not alarm anybody.
      type: phase === 'open' && troubled ? 'Warning' : 'Normal',
      regarding: object,
      related: nodeRef(),
      node,
      details: detailsOf(incident, facts, look(incident, facts), phase, 'pointer'),
    }),
  };

  function affectedPods(incident: Incident, facts: NodeFacts): AffectedPod[] {
    if (!termsOf(options.diagnose(incident, facts)).impact) return [];
    const all = affectedPodsOf(options.podsHere());
    // A table of a namespace of its own is that Pod's alone.
    return facts.namespacePod === undefined ? all : all.filter(({ uid }) => uid === facts.namespacePod);
  }

  function look(incident: Incident, facts: NodeFacts): Surroundings {
    const { services, more } = servicesOf(incident.subjects, options.chains);
    const hit = affectedPods(incident, facts);
    const names = hit.slice(0, 3).map(({ namespace, name }) => `${namespace}/${name}`);
    return { services, moreServices: more, affected: { count: hit.length, names } };
  }

  function lookAgain(incident: Incident, facts: NodeFacts): Surroundings {
    const key = keyOf(incident);
    const second = Math.floor(incident.last / lookEvery);
    const subjects = incident.subjects.length;
    const known = seen.get(key);
    if (known?.second === second && known.subjects === subjects && known.facts === facts) return known.surroundings;
    const surroundings = look(incident, facts);
    seen.set(key, { second, subjects, facts, surroundings });
    return surroundings;
  }

  function detailsOf(
    incident: Incident,
    facts: NodeFacts,
    surroundings: Surroundings,
    phase: IncidentDetails['phase'],
    role: IncidentDetails['role'],
  ): IncidentDetails {
    const { code, failing, failingPod, first, last, failures, ended, endedBy, restarts, quote } = incident;
    return {
      kind: 'incident',
      role,
      phase,
      code,
      diagnosis: options.diagnose(incident, facts),
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
      ...surroundings,
      facts,
    };
  }
}

/** Each object once, as it is first. */
export function distinct(objects: readonly ObjectRef[]): ObjectRef[] {
  const keys = objects.map((object) => `${object.kind} ${objectKey(object)}`);
  return objects.filter((_, i) => keys.indexOf(keys[i] ?? '') === i);
}

/** The same for as long as it goes on, and when it comes back: a problem that flaps does not make a stream of Events. */
function identityOf(what: string, code: string, { failing }: Incident, object: ObjectRef, node: string): string {
  return ['incident', what, code, failing, objectKey(object), node].join('|');
}
