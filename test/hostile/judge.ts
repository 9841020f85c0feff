import type { Millis } from '../../src/base/model/log-line.ts';
import { nodeLimits } from '../../src/publish/events/write-budget.ts';
import { quantile } from '../bench/quantile.ts';
import { attackNamed } from './attacks/attacks.ts';
import type { Answer } from './health-probe.ts';
import { comparedIn, type EventEntry } from './event-log.ts';
import type { AuditFlow } from './honest-audit.ts';
import { honestKeys, honestPods, ofGone } from './honest-tenant.ts';
import { honestNamespaces, hostileNamespaces } from './names.ts';
import type { Round } from './round.ts';
import { mark } from './words.ts';

/**
 * The longest time until an object's first Event is at the API server: a second for its count, two for its verdict, and
 * two for its turn and requests.
 */
const latest: Millis = 5000;
/**
 * In half of the turns only Namespaces count, so each Namespace has a turn within twice as many turns as there
 * are Namespaces: src/count/series/lanes.ts.
 */
const turns = 2 * (honestNamespaces.length + hostileNamespaces.length);
const slowest: Millis = 100;
/** The number of answers from which on one in a hundred is meaningful. */
const fewest = 100;
/** The most requests that the agent makes one after another before it writes an Event. */
const requestsInTurn = 6;
/** How long an Event waits for its verdict. */
const longestWait: Millis = 2000;

/** An address that only the attacker's Pods have: see tenant.ts. */
const hostileAddress = /\b10\.(?:77\.1\.(?:12[89]|1[3-9]\d|2\d\d)|66\.\d+\.\d+)\b/;

/** The round with which a round of these attacks is compared. */
export function comparableTo(attacks: readonly string[], quiet: Round): Round {
  if (!isKilled({ attacks })) return quiet;
  const entries = new Map([...quiet.events.entries].filter(([key]) => !key.startsWith(ofGone.event)));
  const flows = new Map([...quiet.audit.flows].filter(([key]) => !key.endsWith(ofGone.flow)));
  return { ...quiet, events: { ...quiet.events, entries }, audit: { flows } };
}

/** Compares a round with the one without an attacker; returns why it fails, or nothing. */
export function problemsOf(round: Round, quiet: Round): readonly string[] {
  const { agent, problems } = round;
  const { p99 } = healthOf(agent.answers);
  const { length } = agent.answers;
  return [
    ...problems,
    ...agent.ends.map((end) => `the agent ended: ${end}`),
    ...(agent.oomKills > 0 ? [`the kernel killed the agent ${agent.oomKills} times for its memory`] : []),
    ...(length < fewest ? [`/healthz was asked ${length} times, which is too few`] : []),
    ...(p99 > slowest && !isHungry(agent.answers) ? [`/healthz took ${p99.toFixed(0)} ms at the 99th percentile`] : []),
    ...comparedIn(quiet.events).flatMap(([key, wanted]) => eventProblems(round, key, wanted)),
    ...(round.hasAudit ? auditProblems(round, quiet) : []),
    ...[...round.events.entries].flatMap(([key, { last, first }]) => namesOf(key, first.whole + last.whole)),
  ];
}

export interface Health {
  readonly p50: Millis;
  readonly p99: Millis;
  readonly max: Millis;
  /** The time that a client saw. */
  readonly rawP99: Millis;
}

export function healthOf(answers: readonly Answer[]): Health {
  const own = answers.map((answer) => answer.own);
  const raw = answers.map((answer) => answer.raw);
  return { p50: quantile(own, 0.5), p99: quantile(own, 0.99), max: quantile(own, 1), rawP99: quantile(raw, 0.99) };
}

/** Delays that are not the agent's fault, but are worth another run on a quiet machine. */
export function remarksOf({ agent: { answers } }: Round): readonly string[] {
  const { p99 } = healthOf(answers);
  if (p99 <= slowest || !isHungry(answers)) return [];
  const share = (100 * shareOf(answers)).toFixed(0);
  return [`/healthz took ${p99.toFixed(0)} ms, while the agent had a processor for ${share} % of the time: not judged`];
}

/**
 * Whether late answers may be late because other processes had the processor. Then more clients wait for each of the
 * agent's turns, because they come by the wall clock. A busy machine does not make an answer several times as late.
 */
function isHungry(answers: readonly Answer[]): boolean {
  return shareOf(answers) < 2 / 3 && healthOf(answers).p99 < 4 * slowest;
}

/** The share of the agent itself in the time of late answers. */
function shareOf(answers: readonly Answer[]): number {
  const late = answers.filter(({ own }) => own > slowest);
  return late.length === 0 ? 1 : sumOf(late, 'own') / sumOf(late, 'raw');
}

function sumOf(answers: readonly Answer[], time: 'own' | 'raw'): Millis {
  return answers.reduce((sum, answer) => sum + answer[time], 0);
}

/** How late an Event was, without the delay by other processes and the usual delay without an attacker. */
export function latenessOf({ delays }: Round, { from, until }: EventEntry, wanted: EventEntry): Millis {
  const others = requestsInTurn * delays.ofServer(from, until) + delays.ofAgent(from, until);
  return until - from - (wanted.until - wanted.from) - others;
}

function eventProblems(round: Round, key: string, wanted: EventEntry): readonly string[] {
  const found = round.events.entries.get(key);
  if (found === undefined) return [`${key}: no Event`];
  const { first, last } = found;
  const late = latenessOf(round, found, wanted);
  return [
    ...(late > latestOf(round, key, found) && !isKilled(round) ? [`late by ${(late / 1000).toFixed(1)} s`] : []),
    ...(last.count === wanted.last.count ? [] : [`counts ${last.count} of ${wanted.last.count}`]),
    ...(last.message === wanted.last.message
      ? []
      : [`says\n      ${last.message}\n    and not\n      ${wanted.last.message}`]),
    ...(first.message === last.message || first.message === wanted.last.message || isStarved(round, found)
      ? []
      : [`said at first\n      ${first.message}\n    and not\n      ${wanted.last.message}`]),
  ].map((problem) => `${key}: ${problem}${besides(round, found)}`);
}

/** Flow records have no time of their own, so they are awaited as long as Events. */
function auditProblems(round: Round, quiet: Round): readonly string[] {
  return [...quiet.audit.flows].flatMap(([key, wanted]) => {
    const found = round.audit.flows.get(key);
    const problem = found === undefined ? 'no record' : differenceOf(found, wanted, isKilled(round));
    return problem === undefined ? [] : [`audit, ${key}: ${problem}`];
  });
}

/**
 * `mayLack`: a flow that was open when the agent was killed may have no verdict (docs/audit-fields.md), but never a
 * different one.
 */
function differenceOf(found: AuditFlow, wanted: AuditFlow, mayLack: boolean): string | undefined {
  if (found.packets !== wanted.packets) return `${found.packets} of ${wanted.packets} packets`;
  const may = `${wanted.text}\n${wanted.bare}`.split('\n');
  const isWanted = mayLack ? found.text.split('\n').every((text) => may.includes(text)) : found.text === wanted.text;
  return isWanted ? undefined : `says\n      ${found.text}\n    and not\n      ${wanted.text}`;
}

/**
 * How late an Event may be within a node's budget. The first Events of all Pods on the node may be written before later
 * ones, as fast as the total budget allows. Then the others take turns; the attacker may have used up their burst
 * before. The budget of an hour outlasts a round.
 */
function latestOf({ events, tenant }: Round, key: string, { until }: EventEntry): Millis {
  if (honestKeys.get(key)?.isFirst === true) return latest;
  const { all, others } = nodeLimits;
  const firsts = tenant.pods + honestPods.length + 1;
  const ofNamespace = [...events.entries].filter(
    ([other, entry]) =>
      honestKeys.get(other)?.isFirst === false && namespaceOf(other) === namespaceOf(key) && entry.until <= until,
  );
  const seconds = Math.max(0, firsts - all.burst) / all.rate + (ofNamespace.length * turns) / others.rate;
  return latest + 1000 * seconds;
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** After a kill, an Event may wait until all lists are read again; its count and text are compared. */
function isKilled({ attacks }: Pick<Round, 'attacks'>): boolean {
  return attacks.some((name) => attackNamed(name).killsAgent === true);
}

/** Whether the requests for an Event could not be answered in the time that it waits. */
function isStarved({ delays }: Round, { from, until }: EventEntry): boolean {
  return requestsInTurn * delays.ofServer(from, until) + delays.ofAgent(from, until) > longestWait;
}

function besides({ delays }: Round, { from, until }: EventEntry): string {
  const [server, agent] = [delays.ofServer(from, until), delays.ofAgent(from, until)];
  return ` (meanwhile a write to the API server took up to ${server.toFixed(0)} ms, and the agent had no processor for ${agent.toFixed(0)} ms)`;
}

function namesOf(key: string, whole: string): readonly string[] {
  const words = [new RegExp(`.{0,60}${mark}.{0,40}`, 'i').exec(whole)?.[0], hostileAddress.exec(whole)?.[0]];
  return words.flatMap((word) => (word === undefined ? [] : [`${key}: names the attacker: ${word}`]));
}
