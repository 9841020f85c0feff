/** Finds packets whose time is not known, or only in part, and which may be another Pod's for that reason. */
import type { Endpoint } from '../../base/model/endpoint.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { Drop, PacketSink } from '../../count/pipeline/pipeline.ts';
import type { EndpointFinder } from '../../explain/resolving/resolving.ts';
import type { ReplayOptions } from '../options/replay-options.ts';

/** How many names of Pods are shown. */
const mostNames = 4;

const hour = 3_600_000;
/** A local time is up to 14 hours ahead of UTC, and up to 12 behind it. */
const ahead = 14 * hour;
const behind = 12 * hour;
/** As many years as a stamp without one is tried for (`Clock.yearless`). */
const years = 9;

/** The missing part, and what the user can do. */
const guesses = {
  time: ['no wall-clock time', 'Say when they were logged with --boot-time, or save the log with its times'],
  zone: ['a time without a zone', 'Name the zone of the log with --time-zone'],
  year: ['a time without a year', 'Say with --now when the log was saved'],
} as const;

type Guess = keyof typeof guesses;
type KnownPod = ReturnType<EndpointFinder['podsWith']>[number];
type Span = Pick<KnownPod, 'from' | 'until'>;

export interface GuessedTimes {
  /** Hands all packets on. */
  readonly sink: PacketSink;
  /** Returns the problems: a sentence for each kind of guess that may attribute a packet to the wrong Pod. */
  problems: () => string[];
}

/** `zone`, `now`: undefined if the user has not set them. */
export function createGuessedTimes(
  endpoints: Pick<EndpointFinder, 'podsWith'>,
  { zone, now }: Pick<ReplayOptions, 'zone' | 'now'>,
  next: PacketSink | undefined,
): GuessedTimes {
  const unsure = new Map<Guess, { packets: number; first: string }>();

  return {
    sink: {
      ...next,
      drop(drop) {
        note(drop);
        next?.drop(drop);
      },
    },
    problems: () =>
      Array.from(unsure, ([guess, { packets, first }]) => {
        const [missing, advice] = guesses[guess];
        return `${packets.toLocaleString('en-US')} ${packets === 1 ? 'packet has' : 'packets have'} ${missing}, and may be another Pod's: ${first}. ${advice}`;
      }),
  };

  function note({ line, meaning: { ends, noise }, weight }: Drop): void {
    if (noise !== undefined || (line.timeIsExact && line.timeLacks === undefined)) return;
    // Few addresses had several Pods, so this is checked before the possible times.
    const shared = [ends.source, ends.destination].filter(isShared);
    if (shared.length === 0) return;
    for (const [guess, spans] of guessesOf(line)) {
      const end = shared.find(({ address }) => namesIn(address, spans).length > 1);
      if (end === undefined) continue;
      const noted = unsure.get(guess);
      if (noted === undefined) unsure.set(guess, { packets: weight, first: textOfAddress(end, spans) });
      else noted.packets += weight;
      return;
    }
  }

  /** Returns the possible errors of a time that is unknown or incomplete, each with the spans in which the packet may have been logged. */
  function guessesOf({ time, timeIsExact, timeLacks }: LogLine): [Guess, Span[]][] {
    if (!timeIsExact) return [['time', [{ from: -Infinity, until: Infinity }]]];
    const span = (at: Millis): Span =>
      zone === undefined ? { from: at - ahead, until: at + behind } : { from: at, until: at };
    const found: [Guess, Span[]][] = zone === undefined ? [['zone', [span(time)]]] : [];
    if (timeLacks === 'year' && now === undefined)
      found.push(['year', Array.from({ length: years }, (_, count) => span(yearsBefore(time, count)))]);
    return found;
  }

  /** Returns the names of the Pods that had the address at some time within the spans. */
  function namesIn(address: string, spans: readonly Span[]): readonly string[] {
    const within = endpoints
      .podsWith(address)
      .filter((pod) => spans.some(({ from, until }) => pod.from <= until && pod.until >= from));
    return [...new Set(within.map(({ namespace, name }) => `${namespace}/${name}`))];
  }

  function isShared({ address, evidence }: Endpoint): boolean {
    return evidence !== 'interface' && endpoints.podsWith(address).length > 1;
  }

  function textOfAddress({ address }: Endpoint, spans: readonly Span[]): string {
    const all = namesIn(address, spans);
    const more = all.length > mostNames ? ` and ${all.length - mostNames} more` : '';
    return `${address} was an address of ${all.slice(0, mostNames).join(', ')}${more}`;
  }
}

function yearsBefore(time: Millis, count: number): Millis {
  const date = new Date(time);
  return date.setUTCFullYear(date.getUTCFullYear() - count);
}
