import { dropMessage } from '../drops/message.ts';
import { incidentMessage } from '../incidents/reporting/message.ts';
import type { Series } from '../model/series.ts';
import { printable } from '../platform/printable.ts';

/**
 * The message of an Event, from what a series has counted so far: one line, without tabs, mentions and links. Its length is the
 * publisher's to cut.
 */
export function messageOf(series: Series): string {
  const { details, node } = series.finding;
  const lowerBound = series.suppressed
    ? 'Log lines were suppressed or lost meanwhile, so there were at least this many.'
    : '';
  const message =
    details.kind === 'incident' ? incidentMessage(details, node, lowerBound) : dropMessage(series, details, lowerBound);
  return printable(message);
}
