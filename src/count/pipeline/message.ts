/** Writes the message of an Event about a drop or an incident. */
import { dropMessage } from '../../explain/drops/drops.ts';
import { incidentMessage } from '../../explain/incidents/incidents.ts';
import type { IncidentDetails } from '../../base/model/incident.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PolicyName } from '../../base/model/packet.ts';
import type { PolicyVerdict } from '../../base/model/policy-answer.ts';
import type { Series } from '../../base/model/series.ts';
import { printable } from '../../base/platform/printable.ts';

interface MessageOptions {
  /** Returns what the wall clock shows at a time of the series. Default: the times are already the wall clock's. */
  readonly toWall?: (time: Millis) => Millis;
  readonly answer?: PolicyVerdict | undefined;
}

/** Returns one line without tabs, mentions and links. The publisher cuts it. */
export function messageOf(series: Series, { toWall = (time) => time, answer }: MessageOptions = {}): string {
  const { details, node } = series.finding;
  const lowerBound = series.suppressed
    ? 'Log lines were suppressed or lost meanwhile, so there were at least this many.'
    : '';
  const message =
    details.kind === 'incident'
      ? incidentMessage(onWallClock(details, toWall), node, lowerBound)
      : dropMessage(series, details, lowerBound, answer);
  return printable(message);
}

export function textOfSeries(
  series: Series,
  options: MessageOptions,
): { message: string; policy: PolicyName | undefined } {
  return { message: messageOf(series, options), policy: options.answer?.policy };
}

function onWallClock(details: IncidentDetails, toWall: (time: Millis) => Millis): IncidentDetails {
  const { since, last, ended } = details;
  return {
    ...details,
    since: toWall(since),
    last: toWall(last),
    ended: ended === undefined ? undefined : toWall(ended),
  };
}
