import { type ObjectRef, podRef } from '../../model/endpoint.ts';
import type { Finding } from '../../model/finding.ts';
import type { NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import { type FactSources, findFacts, type Recent } from '../facts.ts';
import { type Incident, isUnpublished, keyOf } from '../incident.ts';
import type { Tracker } from '../tracker/tracker.ts';
import { affectedPods, createFindingBuilder, distinct, type FindingBuilder, type Surroundings } from './details.ts';
import { nextPodNotice, type NotifiedPod, type NextPodNotice } from './pod-notices.ts';

export interface Output {
  count: (finding: Finding, time: Millis, weight: number) => void;
  /** Whether the uids of objects are known; without, an Event would get another name than before. */
  isReady: () => boolean;
}

export interface ReporterOptions extends Surroundings, Output {
  tracker: Pick<Tracker, 'incidents' | 'acknowledge'>;
  recent: Recent;
  facts: FactSources;
  restored?: ReporterState | undefined;
}

/** What is known and published of an incident. */
interface Account {
  facts: NodeFacts | undefined;
  /** When, in the time of the incident. */
  asked: Millis;
  /** Objects with an Event about the beginning; they also get one about the end. */
  reported: ObjectRef[];
  notifiedPods: Record<string, NotifiedPod>;
}

export type ReporterState = Record<string, Account>;

/** Facts may change: FelixConfiguration is patched, a table made larger. */
const factsAge: Millis = 300_000;
/** How late a notice may be dated, because `tick` comes every few seconds. */
const tickInterval: Millis = 5000;
/** The failing Pod and the Node are replaced now and then, and Services deleted. */
const reportedLimit = 32;

/** Makes findings: all details where they belong, short notices for affected Pods. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #builder: FindingBuilder;
  readonly #accounts: Map<string, Account>;
  /** Incidents whose facts are being asked for. */
  readonly #asking = new Set<string>();
  #revision = 0;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#builder = createFindingBuilder(options);
    this.#accounts = new Map(Object.entries(options.restored ?? {}));
  }

  /** Another number after every change of what `state` gives. */
  get revision(): number {
    return this.#revision;
  }

  /** Incidents of whose end Pods are still to be notified. */
  get withPodNotices(): ReadonlySet<string> {
    return new Set([...this.#accounts.keys()].filter((key) => hasNotices(this.#accounts.get(key))));
  }

  state(): ReporterState {
    return Object.fromEntries(this.#accounts);
  }

  /** Publishes what is unpublished as soon as it can be explained. */
  report(incident: Incident): void {
    const account = this.#accountOf(incident);
    const isStale = incident.phase === 'open' && incident.last - account.asked >= factsAge;
    if (account.facts === undefined || isStale) this.#ask(incident, account);
    this.#publish(incident, account);
  }

  /** Publishes what could not be published before, and notifies Pods of what lasts or has ended. */
  tick(now: Millis): void {
    const incidents = new Map(this.#options.tracker.incidents.map((incident) => [keyOf(incident), incident]));
    for (const key of this.#accounts.keys()) if (!incidents.has(key)) this.#accounts.delete(key);
    for (const [key, incident] of incidents) {
      const account = isUnpublished(incident) ? this.#accountOf(incident) : this.#accounts.get(key);
      if (account === undefined) continue;
      if (account.facts === undefined && (isUnpublished(incident) || hasNotices(account))) this.#ask(incident, account);
      this.#publish(incident, account);
      if (incident.phase === 'open') this.#notifyOfBeginning(incident, account, now);
      else if (incident.phase === 'over' && !incident.endUnpublished) this.#notifyOfEnd(incident, account, now);
    }
  }

  /** The time of the next `tick`; Infinity if none is needed. */
  nextTick(): Millis {
    return Math.min(Infinity, ...this.#options.tracker.incidents.map((incident) => this.#dueOf(incident)));
  }

  #dueOf(incident: Incident): Millis {
    const key = keyOf(incident);
    if (this.#mayPublish(incident)) return 0;
    const account = this.#accounts.get(key);
    if (account === undefined) return Infinity;
    if (incident.phase === 'open') return this.#nextNotice(incident, account)?.at ?? Infinity;
    return hasNotices(account) && !incident.endUnpublished ? (incident.ended ?? incident.last) : Infinity;
  }

  #accountOf(incident: Incident): Account {
    const key = keyOf(incident);
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    this.#revision++;
    const account: Account = { facts: undefined, asked: -Infinity, reported: [], notifiedPods: {} };
    this.#accounts.set(key, account);
    return account;
  }

  /** Waits until the objects are known: without them less is explained, and nothing may be published anyway. */
  #ask(incident: Incident, account: Account): void {
    const { isReady, recent, facts } = this.#options;
    if (this.#asking.has(keyOf(incident)) || !isReady()) return;
    const found = findFacts(incident, recent, facts);
    if (found instanceof Promise) void this.#learnLater(incident, account, found);
    else this.#learn(incident, account, found);
  }

  async #learnLater(incident: Incident, account: Account, found: Promise<NodeFacts>): Promise<void> {
    this.#asking.add(keyOf(incident));
    this.#learn(incident, account, await found);
    this.#asking.delete(keyOf(incident));
    this.#publish(incident, account);
  }

  #learn({ last }: Incident, account: Account, facts: NodeFacts): void {
    this.#revision++;
    Object.assign(account, { facts, asked: last });
  }

  /** Waits for facts that are asked for again, because the old ones may explain it differently. */
  #mayPublish(incident: Incident): boolean {
    return isUnpublished(incident) && this.#options.isReady() && !this.#asking.has(keyOf(incident));
  }

  #publish(incident: Incident, account: Account): void {
    const { facts } = account;
    if (facts === undefined || !this.#mayPublish(incident)) return;
    const { tracker, count } = this.#options;
    const { unpublished, endUnpublished } = incident;
    tracker.acknowledge(incident);
    if (unpublished > 0) {
      const isFirst = unpublished === incident.failures && unpublished > 1;
      for (const finding of this.#builder.full(incident, facts, 'open')) {
        account.reported = distinct([...account.reported, finding.regarding]).slice(0, reportedLimit);
        if (isFirst) count(finding, incident.first, 1);
        count(finding, incident.last, isFirst ? unpublished - 1 : unpublished);
      }
    }
    if (endUnpublished) {
      const { reported } = account;
      account.reported = [];
      for (const finding of this.#builder.full(incident, facts, 'over', reported))
        count(finding, incident.ended ?? incident.last, 1);
    }
  }

  #notifyOfBeginning(incident: Incident, account: Account, now: Millis): void {
    const { facts, notifiedPods } = account;
    if (facts === undefined) return;
    for (;;) {
      const next = this.#nextNotice(incident, account);
      if (next === undefined || next.at > now) return;
      const { pod, inPlaceOf } = next;
      const at = Math.max(next.at, now - tickInterval);
      const notice = { object: podRef(pod), unhealthy: pod.problem !== undefined };
      // A Pod that is notified again, after an hour, becomes the last one.
      delete notifiedPods[pod.uid];
      if (inPlaceOf !== undefined) delete notifiedPods[inPlaceOf];
      notifiedPods[pod.uid] = { ...notice, at };
      this.#revision++;
      this.#options.count(this.#builder.podNotice(incident, facts, 'open', notice), at, 1);
    }
  }

  /** Notifies one Pod a second, because all nodes may do so at once. */
  #notifyOfEnd(incident: Incident, { facts, notifiedPods }: Account, now: Millis): void {
    if (facts === undefined) return;
    for (const [uid, pod] of Object.entries(notifiedPods).slice(0, tickInterval / 1000)) {
      delete notifiedPods[uid];
      this.#revision++;
      this.#options.count(this.#builder.podNotice(incident, facts, 'over', pod), now, 1);
    }
  }

  #nextNotice(incident: Incident, { facts, notifiedPods }: Account): NextPodNotice | undefined {
    const { isReady, podsHere } = this.#options;
    if (facts === undefined || !isReady()) return undefined;
    return nextPodNotice(affectedPods(incident, facts, podsHere), notifiedPods, incident.opened ?? incident.last);
  }
}

function hasNotices(account: Account | undefined): boolean {
  return account !== undefined && Object.keys(account.notifiedPods).length > 0;
}
