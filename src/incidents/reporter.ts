import type { Finding, IncidentStory, Millis, NodeFacts, ObjectRef } from '../model.ts';
import { objectKey } from '../object-key.ts';
import type { Incident, IncidentChange } from './incident.ts';
import { keyOf } from './state.ts';
import { nextPointer, type Pointed, type Sufferer, sufferersOf } from './pointers.ts';
import { type Chains, servicesOf } from './subjects.ts';

/** What the catalogue says of a cause, as far as it decides who is told. */
export interface Telling {
  severity: 'serious' | 'warning';
  reason: string;
  overReason: string;
  /** Whether the Pods of the node suffer. */
  hurts: boolean;
}

export interface ReporterOptions {
  node: string;
  /** The Node as the API server has it; by its name alone as long as it is not known. */
  nodeRef: () => ObjectRef;
  incidents: () => readonly Incident[];
  tellingOf: (code: string) => Telling;
  diagnose: (incident: Incident, facts: NodeFacts) => string;
  /** Never rejects. */
  findFacts: (incident: Incident) => NodeFacts | Promise<NodeFacts>;
  chains: Chains;
  podsHere: () => readonly Sufferer[];
  count: (finding: Finding, time: Millis, weight: number) => void;
  /**
   * Whether objects are known as the API server has them. Without its uid an Event would be of another name than the one that
   * an earlier run has begun; so nothing is told before.
   */
  isReady: () => boolean;
  restored?: ReporterState | undefined;
}

/** What of an incident has been told, and what was found out about it. */
interface Account {
  facts: NodeFacts | undefined;
  /** When that was, in the time of the incident. */
  asked: Millis;
  pointed: Record<string, Pointed>;
}

/** Accounts by incident. Plain JSON. */
export type ReporterState = Record<string, Account>;

/** Makes findings of incidents: the whole story where it belongs, short pointers on the Pods that suffer. */
export interface Reporter {
  changed: (change: IncidentChange) => void;
  /** Points more Pods to what lasts, and tells those that were pointed that it is over. */
  tick: (now: Millis) => void;
  /** When `tick` has something to do; Infinity. */
  nextTick: () => Millis;
  readonly revision: number;
  state: () => ReporterState;
}

/** Facts may change while an incident lasts: somebody patches FelixConfiguration, the table is made larger. */
const factsAge: Millis = 300_000;
/** `tick` comes every few seconds; what was due in between is not lost. */
const tickInterval: Millis = 5000;

export function createReporter(options: ReporterOptions): Reporter {
  const { node, nodeRef, tellingOf, count } = options;
  const accounts = new Map<string, Account>(Object.entries(options.restored ?? {}));
  const asking = new Set<string>();
  let revision = 0;

  return {
    get revision() {
      return revision;
    },
    state: () => Object.fromEntries(accounts),
    changed({ incident }) {
      revision++;
      const account = accountOf(incident);
      const isStale = incident.phase === 'open' && incident.last - account.asked >= factsAge;
      if (account.facts === undefined || isStale) ask(incident, account);
      settle(incident, account);
    },
    tick(now) {
      const known = new Map(options.incidents().map((incident) => [keyOf(incident), incident]));
      for (const [key, account] of accounts) {
        const incident = known.get(key);
        if (incident !== undefined) settle(incident, account);
        if (incident === undefined) accounts.delete(key);
        else if (incident.phase === 'open') pointOn(incident, account, now);
        else if (incident.phase === 'over' && !incident.endUntold) takeBack(incident, account, now);
      }
    },
    nextTick() {
      let earliest = Infinity;
      for (const incident of options.incidents()) {
        const account = accounts.get(keyOf(incident));
        if (account?.facts === undefined || !options.isReady()) continue;
        if (incident.untold > 0 || incident.endUntold) return 0;
        if (incident.phase === 'over' && Object.keys(account.pointed).length > 0)
          earliest = Math.min(earliest, incident.ended ?? incident.last);
        if (incident.phase === 'open') earliest = Math.min(earliest, next(incident, account)?.at ?? Infinity);
      }
      return earliest;
    },
  };

  function accountOf(incident: Incident): Account {
    const key = keyOf(incident);
    let account = accounts.get(key);
    if (account === undefined) accounts.set(key, (account = { facts: undefined, asked: -Infinity, pointed: {} }));
    return account;
  }

  function ask(incident: Incident, account: Account): void {
    const key = keyOf(incident);
    if (asking.has(key)) return;
    const found = options.findFacts(incident);
    if (!(found instanceof Promise)) return learn(incident, account, found);
    asking.add(key);
    void learnLater(incident, account, found);
  }

  async function learnLater(incident: Incident, account: Account, found: Promise<NodeFacts>): Promise<void> {
    const facts = await found;
    asking.delete(keyOf(incident));
    learn(incident, account, facts);
    settle(incident, account);
  }

  function learn(incident: Incident, account: Account, facts: NodeFacts): void {
    revision++;
    account.facts = facts;
    account.asked = incident.last;
  }

  /** Counts what is not counted yet, as soon as it can be explained. */
  function settle(incident: Incident, account: Account): void {
    const { facts } = account;
    if (facts === undefined || !options.isReady()) return;
    const { untold } = incident;
    if (untold > 0) {
      revision++;
      incident.untold = 0;
      const isFirst = untold === incident.failures && untold > 1;
      for (const finding of fullFindings(incident, facts, 'open')) {
        if (isFirst) count(finding, incident.first, 1);
        count(finding, incident.last, isFirst ? untold - 1 : untold);
      }
    }
    if (incident.endUntold) {
      revision++;
      incident.endUntold = false;
      for (const finding of fullFindings(incident, facts, 'over')) count(finding, incident.ended ?? incident.last, 1);
    }
  }

  function pointOn(incident: Incident, account: Account, now: Millis): void {
    if (account.facts === undefined) return;
    for (let step = next(incident, account); step !== undefined && step.at <= now; step = next(incident, account)) {
      const { pod } = step;
      const time = Math.max(step.at, now - tickInterval);
      const object = podRef(pod);
      const troubled = pod.trouble !== undefined;
      revision++;
      // Told again after an hour: as the last one, also in this order.
      delete account.pointed[pod.uid];
      account.pointed[pod.uid] = { object, troubled, at: time };
      count(pointerFinding(incident, account.facts, object, troubled, 'open'), time, 1);
    }
  }

  /** One Pod a second: it is no hurry to say that all is well, and all nodes may say so at once. */
  function takeBack(incident: Incident, account: Account, now: Millis): void {
    if (account.facts === undefined) return;
    for (const [uid, { object, troubled }] of Object.entries(account.pointed).slice(0, tickInterval / 1000)) {
      revision++;
      delete account.pointed[uid];
      count(pointerFinding(incident, account.facts, object, troubled, 'over'), now, 1);
    }
  }

  function next(incident: Incident, account: Account): { pod: Sufferer; at: Millis } | undefined {
    return nextPointer(sufferers(incident, account.facts), account.pointed, incident.opened ?? incident.last);
  }

  function sufferers(incident: Incident, facts: NodeFacts | undefined): Sufferer[] {
    if (facts === undefined || !options.isReady() || !tellingOf(options.diagnose(incident, facts)).hurts) return [];
    const all = sufferersOf(options.podsHere());
    // A table of a namespace of its own is that Pod's alone.
    return facts.namespacePod === undefined ? all : all.filter(({ uid }) => uid === facts.namespacePod);
  }

  function fullFindings(incident: Incident, facts: NodeFacts, phase: IncidentStory['phase']): Finding[] {
    const story = storyOf(incident, facts, phase, 'full');
    const { severity, reason, overReason } = tellingOf(story.diagnosis);
    const here = nodeRef();
    const common = { reason: phase === 'open' ? reason : overReason, type: typeOf(phase), node, story } as const;
    const findingOn = (regarding: ObjectRef, related: ObjectRef | undefined): Finding => ({
      ...common,
      identity: identityOf(phase, story.diagnosis, incident, regarding, node),
      regarding,
      related,
    });
    const findings = [findingOn(here, incident.culprit)];
    if (incident.culprit !== undefined) findings.unshift(findingOn(incident.culprit, here));
    if (severity === 'warning') return findings;
    for (const { object } of story.services)
      findings.push({
        ...findingOn(object, here),
        identity: identityOf(phase, story.diagnosis, incident, object, ''),
        shared: true,
      });
    return findings;
  }

  function pointerFinding(
    incident: Incident,
    facts: NodeFacts,
    regarding: ObjectRef,
    troubled: boolean,
    phase: IncidentStory['phase'],
  ): Finding {
    const story = storyOf(incident, facts, phase, 'pointer');
    return {
      identity: identityOf(`${phase} pointer`, incident.code, incident, regarding, node),
      reason: phase === 'open' ? 'NodeNetworkDegraded' : 'NodeNetworkRecovered',
      // A Pod that runs well need not alarm anybody.
      type: phase === 'open' && troubled ? 'Warning' : 'Normal',
      regarding,
      related: nodeRef(),
      node,
      story,
    };
  }

  function storyOf(
    incident: Incident,
    facts: NodeFacts,
    phase: IncidentStory['phase'],
    role: IncidentStory['role'],
  ): IncidentStory {
    const { code, failing, culprit, first, last, failures, ended, endedBy, restarts, quote } = incident;
    const { services, more } = servicesOf(incident.subjects, options.chains);
    const hit = sufferers(incident, facts);
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
      services,
      moreServices: more,
      facts,
      affected: { count: hit.length, names: hit.slice(0, 3).map(({ namespace, name }) => `${namespace}/${name}`) },
    };
  }
}

/** The same for as long as it goes on, and when it comes back: a problem that flaps does not make a stream of Events. */
function identityOf(what: string, code: string, { failing }: Incident, object: ObjectRef, node: string): string {
  return ['incident', what, code, failing, objectKey(object), node].join('|');
}

function typeOf(phase: IncidentStory['phase']): 'Warning' | 'Normal' {
  return phase === 'open' ? 'Warning' : 'Normal';
}

function podRef({ namespace, name, uid, resourceVersion }: Sufferer): ObjectRef {
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion };
}
