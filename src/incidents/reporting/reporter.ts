import { type ObjectRef, podRef } from '../../model/endpoint.ts';
import type { Finding } from '../../model/finding.ts';
import type { NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import { type FactSources, findFacts } from '../facts.ts';
import { type Incident, isUnpublished, keyOf } from '../incident.ts';
import type { Recent } from '../tracker/recent.ts';
import type { Tracker } from '../tracker/tracker.ts';
import { affectedPods, createFindingBuilder, distinct, type FindingBuilder, type Surroundings } from './details.ts';
import { nextPodNotice, type NotifiedPod, type NextPodNotice } from './pod-notices.ts';

export interface Output {
  count: (finding: Finding, time: Millis, weight: number) => void;
  /** Whether objects have their uids; without, an Event gets another name than an earlier run gave it, so none is published. */
  isReady: () => boolean;
}

export interface ReporterOptions extends Surroundings, Output {
  tracker: Pick<Tracker, 'incidents' | 'acknowledge'>;
  recent: Recent;
  facts: FactSources;
  restored?: ReporterState | undefined;
}

/** The published part of an incident, and what was found out about it. */
interface Account {
  facts: NodeFacts | undefined;
  /** The time of it, in the time of the incident. */
  asked: Millis;
  /** Objects with an Event about its beginning, and not yet about its end: they get that also when it is no longer about them. */
  reported: ObjectRef[];
  /** Keyed by uid. */
  notifiedPods: Record<string, NotifiedPod>;
}

/** Accounts by incident. Plain JSON. */
export type ReporterState = Record<string, Account>;

/** Facts may change while an incident lasts: FelixConfiguration is patched, the table is made larger. */
const factsAge: Millis = 300_000;
/** `tick` comes every few seconds; what was due in between is not lost. */
const tickInterval: Millis = 5000;
/** Far more objects than one incident is about at a time: the failing Pod and the Node are replaced now and then, Services deleted. */
const reportedLimit = 32;

export type Reporter = ReturnType<typeof createReporter>;

/** Makes findings of incidents: all details where they belong, short notices on the Pods that are affected. */
export function createReporter(options: ReporterOptions) {
  const { tracker, isReady } = options;
  const publisher: Publisher = { ...options, builder: createFindingBuilder(options) };
  const accounts = new Map(Object.entries(options.restored ?? {}));
  const asking = new Set<string>();
  let revision = 0;

  return {
    get revision(): number {
      return revision;
    },
    /** Incidents of whose end Pods are still to be notified. */
    withPodNotices: (): ReadonlySet<string> =>
      new Set([...accounts.keys()].filter((key) => hasNotices(accounts.get(key)))),
    state: (): ReporterState => Object.fromEntries(accounts),
    /** Publishes what is unpublished as soon as it can be explained. */
    report: (incident: Incident): void => {
      const account = accountOf(incident);
      const isStale = incident.phase === 'open' && incident.last - account.asked >= factsAge;
      if (account.facts === undefined || isStale) ask(incident, account);
      publish(incident, account);
    },
    /** Publishes what could not be before, notifies more Pods of what lasts, and those that were notified of its end. */
    tick: (now: Millis): void => {
      const incidents = new Map(tracker.incidents.map((incident) => [keyOf(incident), incident]));
      for (const key of accounts.keys()) if (!incidents.has(key)) accounts.delete(key);
      for (const [key, incident] of incidents) {
        const account = isUnpublished(incident) ? accountOf(incident) : accounts.get(key);
        if (account === undefined) continue;
        if (account.facts === undefined && (isUnpublished(incident) || hasNotices(account))) ask(incident, account);
        publish(incident, account);
        if (notifyPods(publisher, incident, account, now)) revision++;
      }
    },
    /** The time of the next `tick`; Infinity: none is needed. */
    nextTick: (): Millis => Math.min(Infinity, ...tracker.incidents.map(dueOf)),
  };

  function dueOf(incident: Incident): Millis {
    const key = keyOf(incident);
    if (isUnpublished(incident) && isReady() && !asking.has(key)) return 0;
    const account = accounts.get(key);
    return account === undefined ? Infinity : noticeDue(publisher, incident, account);
  }

  function accountOf(incident: Incident): Account {
    const key = keyOf(incident);
    const known = accounts.get(key);
    if (known !== undefined) return known;
    revision++;
    const account: Account = { facts: undefined, asked: -Infinity, reported: [], notifiedPods: {} };
    accounts.set(key, account);
    return account;
  }

  /** Waits until the objects are known: without them less is explained, and nothing is published before anyway. */
  function ask(incident: Incident, account: Account): void {
    if (asking.has(keyOf(incident)) || !isReady()) return;
    const found = findFacts(incident, options.recent, options.facts);
    if (found instanceof Promise) void learnLater(incident, account, found);
    else learn(incident, account, found);
  }

  async function learnLater(incident: Incident, account: Account, found: Promise<NodeFacts>): Promise<void> {
    asking.add(keyOf(incident));
    learn(incident, account, await found);
    asking.delete(keyOf(incident));
    publish(incident, account);
  }

  function learn({ last }: Incident, account: Account, facts: NodeFacts): void {
    revision++;
    Object.assign(account, { facts, asked: last });
  }

  /** Facts that are asked for again are waited for: by the old explanation it would be another problem. */
  function publish(incident: Incident, account: Account): void {
    if (isUnpublished(incident) && isReady() && !asking.has(keyOf(incident))) publishAll(publisher, incident, account);
  }
}

interface Publisher extends ReporterOptions {
  builder: FindingBuilder;
}

/** Counts in Events what is not counted yet. */
function publishAll({ tracker, builder, count }: Publisher, incident: Incident, account: Account): void {
  const { facts } = account;
  if (facts === undefined) return;
  const { unpublished, endUnpublished } = incident;
  tracker.acknowledge(incident);
  if (unpublished > 0) {
    const isFirst = unpublished === incident.failures && unpublished > 1;
    for (const finding of builder.full(incident, facts, 'open')) {
      account.reported = distinct([...account.reported, finding.regarding]).slice(0, reportedLimit);
      if (isFirst) count(finding, incident.first, 1);
      count(finding, incident.last, isFirst ? unpublished - 1 : unpublished);
    }
  }
  if (endUnpublished) {
    const { reported } = account;
    account.reported = [];
    for (const finding of builder.full(incident, facts, 'over', reported))
      count(finding, incident.ended ?? incident.last, 1);
  }
}

/** Gives whether any Pod was notified. */
function notifyPods(publisher: Publisher, incident: Incident, account: Account, now: Millis): boolean {
  const { facts } = account;
  if (facts === undefined) return false;
  if (incident.phase === 'open') return notifyOfBeginning(publisher, incident, account, facts, now);
  return incident.phase === 'over' && !incident.endUnpublished && notifyOfEnd(publisher, incident, account, facts, now);
}

function notifyOfBeginning(
  publisher: Publisher,
  incident: Incident,
  account: Account,
  facts: NodeFacts,
  now: Millis,
): boolean {
  const { builder, count } = publisher;
  const { notifiedPods } = account;
  let next = nextNotice(publisher, incident, account);
  const isAny = next !== undefined && next.at <= now;
  for (; next !== undefined && next.at <= now; next = nextNotice(publisher, incident, account)) {
    const { pod, inPlaceOf } = next;
    const at = Math.max(next.at, now - tickInterval);
    const object = podRef(pod);
    const unhealthy = pod.problem !== undefined;
    // Notified again after an hour: as the last one, also in this order.
    delete notifiedPods[pod.uid];
    if (inPlaceOf !== undefined) delete notifiedPods[inPlaceOf];
    notifiedPods[pod.uid] = { object, unhealthy, at };
    count(builder.podNotice(incident, facts, 'open', { object, unhealthy }), at, 1);
  }
  return isAny;
}

/** One Pod a second: it is not urgent, and all nodes may do so at once. */
function notifyOfEnd(
  { builder, count }: Publisher,
  incident: Incident,
  { notifiedPods }: Account,
  facts: NodeFacts,
  now: Millis,
): boolean {
  const some = Object.entries(notifiedPods).slice(0, tickInterval / 1000);
  for (const [uid, pod] of some) {
    delete notifiedPods[uid];
    count(builder.podNotice(incident, facts, 'over', pod), now, 1);
  }
  return some.length > 0;
}

function noticeDue(publisher: Publisher, incident: Incident, account: Account): Millis {
  if (incident.phase === 'open') return nextNotice(publisher, incident, account)?.at ?? Infinity;
  // The notified Pods are known without asking.
  return hasNotices(account) && !incident.endUnpublished ? (incident.ended ?? incident.last) : Infinity;
}

function nextNotice(
  { isReady, podsHere }: Publisher,
  incident: Incident,
  { facts, notifiedPods }: Account,
): NextPodNotice | undefined {
  if (facts === undefined || !isReady()) return undefined;
  return nextPodNotice(affectedPods(incident, facts, podsHere), notifiedPods, incident.opened ?? incident.last);
}

function hasNotices(account: Account | undefined): boolean {
  return account !== undefined && Object.keys(account.notifiedPods).length > 0;
}
