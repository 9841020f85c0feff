import { type ObjectRef, podRef } from '../../../base/model/endpoint.ts';
import type { Finding } from '../../../base/model/finding.ts';
import type { NodeFacts } from '../../../base/model/incident.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { askFacts, type FactSources, knownFacts, type RecentLines } from '../facts.ts';
import { type Incident, isUnpublished, incidentKey } from '../incident.ts';
import type { Tracker } from '../tracker/tracker.ts';
import {
  affectedPods,
  createFindingBuilder,
  distinctObjects,
  type FindingBuilder,
  nextPodNotice,
  type NextPodNotice,
  type NotifiedPod,
  type NodeContext,
} from './details.ts';

export interface ReporterOutput {
  count: (finding: Finding, time: Millis, weight: number) => void;
  /** Whether the uids of objects are known. Without them, the same Event would get another name than in an earlier run. */
  isReady: () => boolean;
}

export interface ReporterOptions extends NodeContext, ReporterOutput {
  tracker: Pick<Tracker, 'incidents' | 'acknowledge'>;
  recent: RecentLines;
  facts: FactSources;
  restored?: ReporterState | undefined;
}

interface Account {
  facts: NodeFacts | undefined;
  /** The time of the last failure when the facts came. */
  asked: Millis;
  /** Objects with an Event about the beginning; they also get one about the end. */
  reported: ObjectRef[];
  notifiedPods: Record<string, NotifiedPod>;
}

export type ReporterState = Record<string, Account>;

/** How long facts are used, because they may change: somebody patches FelixConfiguration or enlarges a table. */
const factsAge: Millis = 300_000;
/** The most that a notice may be dated back, because `tick` comes only every few seconds. */
const tickInterval: Millis = 5000;
/** The most objects kept for one incident. The failing Pod, the Node and Services may be replaced during a long one. */
const reportedLimit = 32;

/** Makes findings: full ones for the objects that an incident is about, and short notices for affected Pods. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #builder: FindingBuilder;
  readonly #accounts: Map<string, Account>;
  readonly #asking = new Set<string>();
  #revision = 0;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#builder = createFindingBuilder(options);
    this.#accounts = new Map(Object.entries(options.restored ?? {}));
  }

  /** Changes with `state`, except if the tracker's revision changes at the same time. */
  get revision(): number {
    return this.#revision;
  }

  /** Incidents whose Pods know of the beginning, and must still be told of the end. */
  get withPodNotices(): ReadonlySet<string> {
    return new Set([...this.#accounts.keys()].filter((key) => hasNotices(this.#accounts.get(key))));
  }

  state(): ReporterState {
    return Object.fromEntries(this.#accounts);
  }

  report(incident: Incident): void {
    this.#publish(incident, this.#accountOf(incident));
  }

  tick(now: Millis): void {
    const incidents = new Map(this.#options.tracker.incidents.map((incident) => [incidentKey(incident), incident]));
    for (const key of this.#accounts.keys()) if (!incidents.has(key)) this.#accounts.delete(key);
    for (const [key, incident] of incidents) {
      const account = isUnpublished(incident) ? this.#accountOf(incident) : this.#accounts.get(key);
      if (account === undefined) continue;
      this.#publish(incident, account);
      if (incident.phase === 'open') this.#notifyOfBeginning(incident, account, now);
      else if (incident.phase === 'over' && !incident.endUnpublished) this.#notifyOfEnd(incident, account, now);
    }
  }

  nextTick(): Millis {
    return Math.min(Infinity, ...this.#options.tracker.incidents.map((incident) => this.#dueOf(incident)));
  }

  #dueOf(incident: Incident): Millis {
    const key = incidentKey(incident);
    if (this.#mayPublish(incident)) return 0;
    const account = this.#accounts.get(key);
    if (account === undefined) return Infinity;
    if (incident.phase === 'open') return this.#nextNotice(incident, account)?.at ?? Infinity;
    return hasNotices(account) && !incident.endUnpublished ? (incident.ended ?? incident.last) : Infinity;
  }

  #accountOf(incident: Incident): Account {
    const key = incidentKey(incident);
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    this.#revision++;
    const account: Account = { facts: undefined, asked: -Infinity, reported: [], notifiedPods: {} };
    this.#accounts.set(key, account);
    return account;
  }

  /** Returns false until the objects are known. Before that, less could be explained, and nothing is published anyway. */
  #needsFacts(incident: Incident, account: Account): boolean {
    if (this.#asking.has(incidentKey(incident)) || !this.#options.isReady()) return false;
    if (account.facts === undefined) return isUnpublished(incident) || hasNotices(account);
    return isUnpublished(incident) && incident.phase === 'open' && incident.last - account.asked >= factsAge;
  }

  /** Publishes at once if all facts are at hand, as in a replay, or else when the answers have come. */
  #publishWithNewFacts(incident: Incident, account: Account): void {
    const { recent, facts: sources } = this.#options;
    const key = incidentKey(incident);
    const publish = (facts: NodeFacts): void => {
      this.#asking.delete(key);
      this.#revision++;
      Object.assign(account, { facts, asked: incident.last } satisfies Partial<Account>);
      this.#publish(incident, account);
    };
    if (sources.asked === undefined) return publish(knownFacts(incident, recent, sources));
    this.#asking.add(key);
    void askFacts(incident, recent, sources).then(publish);
  }

  /** Returns false while facts are asked for again, because the old facts may lead to another diagnosis. */
  #mayPublish(incident: Incident): boolean {
    return isUnpublished(incident) && this.#options.isReady() && !this.#asking.has(incidentKey(incident));
  }

  #publish(incident: Incident, account: Account): void {
    if (this.#needsFacts(incident, account)) return this.#publishWithNewFacts(incident, account);
    const { facts } = account;
    if (facts === undefined || !this.#mayPublish(incident)) return;
    const { tracker, count } = this.#options;
    const { unpublished, endUnpublished } = incident;
    tracker.acknowledge(incident);
    if (unpublished > 0) {
      const isFirst = unpublished === incident.failures && unpublished > 1;
      for (const finding of this.#builder.full(incident, facts, 'open')) {
        account.reported = distinctObjects([...account.reported, finding.regarding]).slice(0, reportedLimit);
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
      const object = podRef(pod);
      // Moves a Pod that is notified again (after an hour) to the end.
      delete notifiedPods[pod.uid];
      if (inPlaceOf !== undefined) delete notifiedPods[inPlaceOf];
      notifiedPods[pod.uid] = { object, at };
      this.#revision++;
      this.#options.count(this.#builder.podNotice(incident, facts, 'open', object), at, 1);
    }
  }

  /** Notifies one Pod a second, because all nodes may do so at the same time. */
  #notifyOfEnd(incident: Incident, { facts, notifiedPods }: Account, now: Millis): void {
    if (facts === undefined) return;
    for (const [uid, pod] of Object.entries(notifiedPods).slice(0, tickInterval / 1000)) {
      delete notifiedPods[uid];
      this.#revision++;
      this.#options.count(this.#builder.podNotice(incident, facts, 'over', pod.object), now, 1);
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
