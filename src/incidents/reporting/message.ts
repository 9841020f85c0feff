import { isSubdomain } from '../../platform/api-names.ts';
import { humanDuration } from '../../platform/duration.ts';
import type { Finding } from '../../model/finding.ts';
import type { IncidentDetails, NamedService } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import { withoutMarkup } from '../../platform/printable.ts';
import { causeOf } from '../catalogue/catalogue.ts';
import { quotable } from '../catalogue/record-text.ts';
import { list, plural, short } from '../catalogue/texts.ts';
import { hints } from '../catalogue/catalogue.ts';

/** Bytes of an Event's message: what is read at a glance. What is cut off must never be the code that leads to the page. */
const room = 600;

/** The message of an Event about an incident, of about 600 bytes at most: what matters least gives way, and what is broken and what to do never. What, who is affected, what to do, why, quote. */
export function incidentMessage(
  details: IncidentDetails,
  node: string,
  lowerBound = '',
  type: Finding['type'] = 'Warning',
): string {
  const name = short(node, 253) || 'this node';
  if (details.role === 'full')
    return details.phase === 'open' ? full(details, name, lowerBound) : fullOver(details, name);
  return details.phase === 'open' ? podNotice(details, name, type) : podNoticeOver(details, name);
}

/** A weight, then a sentence, then shorter versions of it; a sentence of weight 0 is never left out. */
type Part = readonly [rank: number, ...texts: string[]];

function full(details: IncidentDetails, node: string, lowerBound: string): string {
  const cause = causeOf(details.diagnosis);
  const [firstHint = '', secondHint = ''] = hints(details);
  return fitted(
    [
      [0, cause.what(details, node)],
      [1, affectedText(details, true), affectedText(details, false)],
      [0, cause.fix(details, node)],
      [3, cause.why(details, node)],
      [2, firstHint],
      [4, `${times(details.failures)} since ${instant(details.since, details.last)}${restarts(details)}.`],
      [3, lowerBound],
      [5, backendsText(details)],
      [6, quoteText(details)],
      [7, secondHint],
    ],
    details,
  );
}

function fullOver(details: IncidentDetails, node: string): string {
  const { since, last, ended, endedBy, failures } = details;
  const end = ended ?? last;
  return fitted(
    [
      [0, `Resolved on ${node}: "${causeOf(details.diagnosis).title}".`],
      [
        1,
        `It lasted ${span(since, end)}, with ${plural(failures, 'failure', 'failures')} ${
          failures === 1 ? `at ${instant(last, end)}` : `from ${instant(since, end)} to ${instant(last, end)}`
        }${restarts(details)}.`,
      ],
      [2, endedBy === 'success' ? 'The last attempt succeeded.' : 'It has not been logged again since.'],
      [3, affectedServices(details) === '' ? '' : `${affectedServices(details)}.`],
    ],
    details,
  );
}

/** Says to a Pod that runs well only what it can no longer count on: the Node's Event says the rest. */
function podNotice(details: IncidentDetails, node: string, type: Finding['type']): string {
  const cause = causeOf(details.diagnosis);
  return fitted(
    [
      [0, cause.impact?.(details) ?? ''],
      [
        1,
        type === 'Normal'
          ? ''
          : `Cause: on ${node}, not in this Pod, since ${instant(details.since, details.last)}: ${lowerFirst(cause.title)}.`,
      ],
      // The name of a host in a log may be none of a Node.
      [2, isSubdomain(node) ? `Details: kubectl describe node ${node}` : ''],
    ],
    details,
  );
}

function podNoticeOver(details: IncidentDetails, node: string): string {
  const end = details.ended ?? details.last;
  return fitted(
    [
      [0, `Resolved on ${node} at ${instant(end, end)}: "${causeOf(details.diagnosis).title}".`],
      [1, `It had lasted ${span(details.since, end)}.`],
    ],
    details,
  );
}

/** Joins the parts that fit, in their order, those of a low rank before others; the code after them. */
function fitted(parts: readonly Part[], { diagnosis, code }: IncidentDetails): string {
  const mark = diagnosis === code ? `[${code}]` : `[${diagnosis}, ${code}]`;
  const chosen = new Map<Part, string>();
  const whole = (): string => [...parts.flatMap((part) => chosen.get(part) ?? []), mark].join(' ').toWellFormed();
  for (const part of parts.toSorted(([one], [other]) => one - other)) {
    const [rank, ...texts] = part;
    for (const text of texts.filter((each) => each !== '')) {
      chosen.set(part, text);
      if (rank === 0 || Buffer.byteLength(whole()) <= room) break;
      chosen.delete(part);
    }
  }
  return whole();
}

/** Quotes the line that began it, which stays the same for as long as it goes on. */
function quoteText({ quote }: IncidentDetails): string {
  // Before it is fitted: it gets longer.
  const text = withoutMarkup(quotable(quote));
  if (text === '') return '';
  return `It logged: "${text}"${/[.!?…]$/.test(text) ? '' : '.'}`;
}

/** `Seen 14 times` */
function times(failures: number): string {
  return `Seen ${failures === 1 ? 'once' : plural(failures, 'time', 'times')}`;
}

function restarts({ restarts: count }: IncidentDetails): string {
  return count === 0 ? '' : `, with ${plural(count, 'restart', 'restarts')} of the container`;
}

/** `Affected: Services shop/postgres port postgres, shop/web ports http and https and 3 more; shop/web-0 and 109 more Pods.` */
function affectedText(details: IncidentDetails, withNames: boolean): string {
  const services = withNames ? affectedServices(details) : counted(serviceCount(details), 'Service', 'Services');
  const texts = [services, affectedPods(details, withNames && services === '')].filter((text) => text !== '');
  return texts.length === 0 ? '' : `Affected: ${texts.join('; ')}.`;
}

function affectedServices(details: IncidentDetails): string {
  const { services } = details;
  if (services.length === 0) return '';
  const named = services.slice(0, 3).map(serviceText);
  const count = serviceCount(details);
  return `${count === 1 ? 'Service' : 'Services'} ${named.join(', ')}${count > named.length ? ` and ${count - named.length} more` : ''}`;
}

function serviceCount({ services, moreServices }: IncidentDetails): number {
  return services.length + moreServices;
}

function serviceText({ object, ports, deleted }: NamedService): string {
  const named = list(ports, 0, 3);
  const port = named === '' ? '' : ` ${ports.length === 1 ? 'port' : 'ports'} ${named}`;
  return `${short(`${object.namespace}/${object.name}`, 127)}${port}${deleted ? ' (deleted since)' : ''}`;
}

/** `Behind shop/postgres: shop/postgres-0 on node-b.` */
function backendsText({ services }: IncidentDetails): string {
  return services
    .slice(0, 3)
    .flatMap(({ object, backends, moreBackends }) => {
      const behind = list(backends, moreBackends, 3, 200);
      return behind === '' ? [] : [`Behind ${short(`${object.namespace}/${object.name}`, 127)}: ${behind}.`];
    })
    .join(' ');
}

function affectedPods({ affected: { count, names } }: IncidentDetails, withName: boolean): string {
  const first = withName && names[0] !== undefined ? list([names[0]], 0, 1, 80) : '';
  if (first === '') return counted(count, 'Pod', 'Pods');
  return count === 1 ? first : `${first} and ${counted(count - 1, 'more Pod', 'more Pods')}`;
}

function counted(count: number, one: string, many: string): string {
  return count === 0 ? '' : plural(count, one, many);
}

function span(since: Millis, end: Millis): string {
  return humanDuration(Math.max(0, datable(end) - datable(since)));
}

/** `12:03:04 UTC`, with the date where `near` is of another day. */
function instant(time: Millis, near: Millis): string {
  const [date = '', clock = ''] = new Date(datable(time)).toISOString().split('T');
  const isSameDay = new Date(datable(near)).toISOString().startsWith(date);
  return `${isSameDay ? '' : `${date} `}${clock.slice(0, 8)} UTC`;
}

/** A time that no clock has becomes the nearest one that a Date can be: all else about it may still be true. */
function datable(time: Millis): Millis {
  return Math.min(Math.max(time || 0, 0), 8.64e15);
}

function lowerFirst(text: string): string {
  // A name in capitals, such as BGP, keeps its first letter.
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
