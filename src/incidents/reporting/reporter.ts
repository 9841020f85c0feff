import { type ObjectRef, podRef } from '../../model/endpoint.ts';
import type { Finding } from '../../model/finding.ts';
import type { NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Incident, IncidentChange } from '../incident.ts';
import { keyOf } from '../tracker/state.ts';
import { nextPodNotice, type NotifiedPod, type NextPodNotice } from './pod-notices.ts';
import { createIncidentDetails, distinct, type IncidentDetailsOptions } from './details.ts';

export interface ReporterOptions extends IncidentDetailsOptions {
  incidents: () => readonly Incident[];
  /** Never rejects. */
  findFacts: (incident: Incident) => NodeFacts | Promise<NodeFacts>;
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
  /** Objects that have the whole story, and not yet its end: they get it also when it is no longer about them. */
  told: ObjectRef[];
  /** By uid. */
  notifiedPods: Record<string, NotifiedPod>;
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
  /** Whether Pods that were pointed to it are still to be told of its end. */
  hasPodNotices: (incident: Incident) => boolean;
  readonly revision: number;
  state: () => ReporterState;
}

/** Facts may change while an incident lasts: somebody patches FelixConfiguration, the table is made larger. */
const factsAge: Millis = 300_000;
/** `tick` comes every few seconds; what was due in between is not lost. */
const tickInterval: Millis = 5000;
/** Far more objects than have one story at a time: the culprit and the Node are replaced now and then, Services deleted. */
const toldLimit = 32;

export function createReporter(options: ReporterOptions): Reporter {
  const { count, isReady } = options;
  const details = createIncidentDetails(options);
  const accounts = new Map(Object.entries(options.restored ?? {}));
  const asking = new Set<string>();
  let revision = 0;

  return {
    get revision() {
      return revision;
    },
    hasPodNotices,
    state: () => Object.fromEntries(accounts),
    changed({ incident }) {
      revision++;
      const account = accountOf(incident);
      // A clock that was set back makes the facts as old as one that went on.
      const isStale = incident.phase === 'open' && Math.abs(incident.last - account.asked) >= factsAge;
      if (account.facts === undefined || isStale) ask(incident, account);
      settle(incident, account);
    },
    tick(now) {
      const known = new Map(options.incidents().map((incident) => [keyOf(incident), incident]));
      for (const [key, account] of accounts) {
        const incident = known.get(key);
        if (incident === undefined) {
          accounts.delete(key);
          continue;
        }
        setClock(account, now);
        if (account.facts === undefined && (isUnpublished(incident) || hasPodNotices(incident))) ask(incident, account);
        settle(incident, account);
        if (incident.phase === 'open') notifyPods(incident, account, now);
        else if (incident.phase === 'over' && !incident.endUnpublished) takeBack(incident, account, now);
      }
    },
    nextTick() {
      let earliest = Infinity;
      for (const incident of options.incidents()) {
        const key = keyOf(incident);
        const account = accounts.get(key);
        if (account === undefined) continue;
        if (isUnpublished(incident) && isReady() && !asking.has(key)) return 0;
        // Who was pointed to it is known by itself.
        if (incident.phase === 'over' && !incident.endUnpublished && hasPodNotices(incident))
          earliest = Math.min(earliest, incident.ended ?? incident.last);
        if (incident.phase === 'open') earliest = Math.min(earliest, next(incident, account)?.at ?? Infinity);
      }
      return earliest;
    },
  };

  function hasPodNotices(incident: Incident): boolean {
    return Object.keys(accounts.get(keyOf(incident))?.notifiedPods ?? {}).length > 0;
  }

  function accountOf(incident: Incident): Account {
    const key = keyOf(incident);
    let account = accounts.get(key);
    if (account === undefined) accounts.set(key, (account = newAccount()));
    return account;
  }

  /** Not before the objects are known: what is found out without them explains less, and it is not told before anyway. */
  function ask(incident: Incident, account: Account): void {
    const key = keyOf(incident);
    if (asking.has(key) || !isReady()) return;
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
    // What is being asked anew is waited for: an old explanation would be told as a problem of its own.
    if (facts === undefined || asking.has(keyOf(incident)) || !isReady()) return;
    const { unpublished } = incident;
    if (unpublished > 0) {
      revision++;
      incident.unpublished = 0;
      const isFirst = unpublished === incident.failures && unpublished > 1;
      for (const finding of details.whole(incident, facts, 'open')) {
        remember(account, finding.regarding);
        if (isFirst) count(finding, incident.first, 1);
        count(finding, incident.last, isFirst ? unpublished - 1 : unpublished);
      }
    }
    if (incident.endUnpublished) {
      revision++;
      incident.endUnpublished = false;
      const { told } = account;
      account.told = [];
      for (const finding of details.whole(incident, facts, 'over', told))
        count(finding, incident.ended ?? incident.last, 1);
    }
  }

  function notifyPods(incident: Incident, account: Account, now: Millis): void {
    const { facts } = account;
    if (facts === undefined) return;
    for (let step = next(incident, account); step !== undefined && step.at <= now; step = next(incident, account)) {
      const { pod, inPlaceOf } = step;
      const time = Math.max(step.at, now - tickInterval);
      const object = podRef(pod);
      const troubled = pod.trouble !== undefined;
      revision++;
      // Told again after an hour: as the last one, also in this order.
      delete account.notifiedPods[pod.uid];
      if (inPlaceOf !== undefined) delete account.notifiedPods[inPlaceOf];
      account.notifiedPods[pod.uid] = { object, troubled, at: time };
      count(details.pointer(incident, facts, 'open', { object, troubled }), time, 1);
    }
  }

  /** One Pod a second: it is no hurry to say that all is well, and all nodes may say so at once. */
  function takeBack(incident: Incident, account: Account, now: Millis): void {
    if (account.facts === undefined) return;
    for (const [uid, pod] of Object.entries(account.notifiedPods).slice(0, tickInterval / 1000)) {
      revision++;
      delete account.notifiedPods[uid];
      count(details.pointer(incident, account.facts, 'over', pod), now, 1);
    }
  }

  function next(incident: Incident, { facts, notifiedPods }: Account): NextPodNotice | undefined {
    if (facts === undefined || !isReady()) return undefined;
    return nextPodNotice(details.affectedPods(incident, facts), notifiedPods, incident.opened ?? incident.last);
  }
}

function newAccount(): Account {
  return { facts: undefined, asked: -Infinity, told: [], notifiedPods: {} };
}

function isUnpublished({ unpublished, endUnpublished }: Incident): boolean {
  return unpublished > 0 || endUnpublished;
}

function remember(account: Account, object: ObjectRef): void {
  account.told = distinct([...account.told, object]).slice(0, toldLimit);
}

/** Takes back times that a wrong clock has put ahead: else nobody would be told until then. */
function setClock({ notifiedPods }: Account, now: Millis): void {
  for (const each of Object.values(notifiedPods)) each.at = Math.min(each.at, now);
}
