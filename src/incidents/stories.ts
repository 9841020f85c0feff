import type { Finding, IncidentStory, Millis, NodeFacts, ObjectRef } from '../model.ts';
import { objectKey } from '../object-key.ts';
import type { Incident } from './incident.ts';
import { type Sufferer, sufferersOf } from './pointers.ts';
import { keyOf } from './state.ts';
import { type Chains, servicesOf } from './subjects.ts';

/** What the catalogue says of a cause, as far as it decides who is told. */
export interface Telling {
  severity: 'serious' | 'warning';
  reason: string;
  overReason: string;
  /** Whether the Pods of the node suffer. */
  hurts: boolean;
}

export interface StoriesOptions {
  node: string;
  /** The Node as the API server has it; by its name alone as long as it is not known. */
  nodeRef: () => ObjectRef;
  tellingOf: (code: string) => Telling;
  diagnose: (incident: Incident, facts: NodeFacts) => string;
  chains: Chains;
  podsHere: () => readonly Sufferer[];
}

/** What is told of an incident, by what was found out about it. */
export interface Stories {
  /** The whole story on all that it is about, or on `told`. */
  whole: (
    incident: Incident,
    facts: NodeFacts,
    phase: IncidentStory['phase'],
    told?: readonly ObjectRef[],
  ) => Finding[];
  /** A short one on a Pod. */
  pointer: (
    incident: Incident,
    facts: NodeFacts,
    phase: IncidentStory['phase'],
    pod: { object: ObjectRef; troubled: boolean },
  ) => Finding;
  /** Pods that it hits, those in trouble first. */
  sufferers: (incident: Incident, facts: NodeFacts) => Sufferer[];
}

type Surroundings = Pick<IncidentStory, 'services' | 'moreServices' | 'affected'>;

/** A program may fail hundreds of times a second; what is around it does not change as often, and is much to look through. */
const lookEvery: Millis = 1000;

export function createStories(options: StoriesOptions): Stories {
  const { node, nodeRef, tellingOf } = options;
  const seen = new Map<string, { second: number; subjects: number; facts: NodeFacts; surroundings: Surroundings }>();

  return {
    sufferers,
    whole(incident, facts, phase, told) {
      const around = phase === 'open' ? lookAgain(incident, facts) : look(incident, facts);
      const story = storyOf(incident, facts, around, phase, 'full');
      const { severity, reason, overReason } = tellingOf(story.diagnosis);
      const here = nodeRef();
      const services = severity === 'warning' ? [] : story.services.map(({ object }) => object);
      return distinct(told ?? [incident.culprit ?? here, here, ...services]).map((object): Finding => {
        const shared = object.kind === 'Service';
        return {
          identity: identityOf(phase, story.diagnosis, incident, object, shared ? '' : node),
          reason: phase === 'open' ? reason : overReason,
          type: phase === 'open' ? 'Warning' : 'Normal',
          regarding: object,
          related: object.kind === 'Node' ? incident.culprit : here,
          node,
          shared: shared ? true : undefined,
          story,
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
      story: storyOf(incident, facts, look(incident, facts), phase, 'pointer'),
    }),
  };

  function sufferers(incident: Incident, facts: NodeFacts): Sufferer[] {
    if (!tellingOf(options.diagnose(incident, facts)).hurts) return [];
    const all = sufferersOf(options.podsHere());
    // A table of a namespace of its own is that Pod's alone.
    return facts.namespacePod === undefined ? all : all.filter(({ uid }) => uid === facts.namespacePod);
  }

  function look(incident: Incident, facts: NodeFacts): Surroundings {
    const { services, more } = servicesOf(incident.subjects, options.chains);
    const hit = sufferers(incident, facts);
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

  function storyOf(
    incident: Incident,
    facts: NodeFacts,
    surroundings: Surroundings,
    phase: IncidentStory['phase'],
    role: IncidentStory['role'],
  ): IncidentStory {
    const { code, failing, culprit, first, last, failures, ended, endedBy, restarts, quote } = incident;
    return {
      kind: 'incident',
      role,
      phase,
      code,
      diagnosis: options.diagnose(incident, facts),
      failing,
      culprit: culprit === undefined ? undefined : `${culprit.namespace}/${culprit.name}`,
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
