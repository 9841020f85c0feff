import { dropMessage } from '../drops/message.ts';
import { incidentMessage } from '../incidents/reporting/message.ts';
import type { IncidentDetails } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { printable } from '../platform/printable.ts';

/** One line, without tabs, mentions and links; the publisher cuts it. `toWall`: the wall clock at a time of the series. */
export function messageOf(series: Series, toWall: (time: Millis) => Millis = (time) => time): string {
  const { details, node } = series.finding;
  const lowerBound = series.suppressed
    ? 'Log lines were suppressed or lost meanwhile, so there were at least this many.'
    : '';
  const message =
    details.kind === 'incident'
      ? incidentMessage(onWallClock(details, toWall), node, lowerBound)
      : dropMessage(series, details, lowerBound);
  return printable(message);
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
