import { isSubdomain } from '../../../base/platform/api-names.ts';
import { humanDuration } from '../../../base/platform/duration.ts';
import type { IncidentDetails, NamedService } from '../../../base/model/incident.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { withoutMarkup } from '../../../base/platform/printable.ts';
import { causeOf, hints } from '../catalogue/catalogue.ts';
import { quotable } from '../catalogue/record-text.ts';
import { listText, amountText, short } from '../catalogue/texts.ts';
import type { Incident } from '../incident.ts';

/** The most bytes of a message. */
const room = 600;

/** Says what is broken, who is affected, what to do and why, with a quote. Leaves out the least important parts if it is too long. */
export function incidentMessage(details: IncidentDetails, node: string, lowerBound = ''): string {
  const name = short(node, 253) || 'this node';
  if (details.role === 'full')
    return details.phase === 'open' ? full(details, name, lowerBound) : fullOver(details, name);
  return details.phase === 'open' ? podNotice(details, name) : podNoticeOver(details, name);
}

/** A sentence, and shorter versions of it. The higher the rank, the sooner a part is left out. Rank 0 is never left out. */
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
        `It lasted ${span(since, end)}, with ${amountText(failures, 'failure')} ${
          failures === 1 ? `at ${instant(last, end)}` : `from ${instant(since, end)} to ${instant(last, end)}`
        }${restarts(details)}.`,
      ],
      [2, endedBy === 'success' ? 'The last attempt succeeded.' : 'It has not been logged again since.'],
      [3, affectedServices(details) === '' ? '' : `${affectedServices(details)}.`],
    ],
    details,
  );
}

/** Says what the Pod cannot rely on and whom to tell, because the owner of a Pod may not repair its node. */
function podNotice(details: IncidentDetails, node: string): string {
  const cause = causeOf(details.diagnosis);
  return fitted(
    [
      [0, cause.impact?.(details) ?? ''],
      [1, `Cause, on ${node} since ${instant(details.since, details.last)}: ${lowerFirst(cause.title)}.`],
      // A log may contain a host name that is not a Node's.
      [
        2,
        isSubdomain(node)
          ? `Tell the cluster admins. Details: kubectl describe node ${node}`
          : 'Tell the cluster admins.',
      ],
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

/** Quotes the last line before the incident opened, because it stays the same. */
function quoteText({ quote }: IncidentDetails): string {
  const text = withoutMarkup(quotable(quote));
  if (text === '') return '';
  return `It logged: "${text}"${/[.!?…]$/.test(text) ? '' : '.'}`;
}

function times(failures: number): string {
  return `Seen ${failures === 1 ? 'once' : amountText(failures, 'time')}`;
}

function restarts({ restarts: count }: IncidentDetails): string {
  return count === 0 ? '' : `, with ${amountText(count, 'restart')} of the container`;
}

/** Returns `Affected: Services shop/postgres port postgres, shop/web ports http and https and 3 more; shop/web-0 and 109 more Pods.` */
function affectedText(details: IncidentDetails, withNames: boolean): string {
  const services = withNames ? affectedServices(details) : counted(serviceCount(details), 'Service');
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
  const named = listText(ports, 0, 3);
  const port = named === '' ? '' : ` ${ports.length === 1 ? 'port' : 'ports'} ${named}`;
  return `${short(`${object.namespace}/${object.name}`, 127)}${port}${deleted ? ' (deleted since)' : ''}`;
}

function backendsText({ services }: IncidentDetails): string {
  return services
    .slice(0, 3)
    .flatMap(({ object, backends, moreBackends }) => {
      const behind = listText(backends, moreBackends, 3, 200);
      return behind === '' ? [] : [`Behind ${short(`${object.namespace}/${object.name}`, 127)}: ${behind}.`];
    })
    .join(' ');
}

function affectedPods({ affected: { count, names } }: IncidentDetails, withName: boolean): string {
  const first = withName && names[0] !== undefined ? listText([names[0]], 0, 1, 80) : '';
  if (first === '') return counted(count, 'Pod');
  return count === 1 ? first : `${first} and ${counted(count - 1, 'more Pod')}`;
}

function counted(count: number, one: string): string {
  return count === 0 ? '' : amountText(count, one);
}

function span(since: Millis, end: Millis): string {
  return humanDuration(Math.max(0, datable(end) - datable(since)));
}

/** Writes `12:03:04 UTC`, and the date if `near` is on another day. */
function instant(time: Millis, near: Millis): string {
  const [date = '', clock = ''] = new Date(datable(time)).toISOString().split('T');
  const isSameDay = new Date(datable(near)).toISOString().startsWith(date);
  return `${isSameDay ? '' : `${date} `}${clock.slice(0, 8)} UTC`;
}

/** Limits a time to what a Date can represent. */
function datable(time: Millis): Millis {
  return Math.min(Math.max(time || 0, 0), 8.64e15);
}

function lowerFirst(text: string): string {
  // Names such as BGP keep their first letter.
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

export const conditionType = 'NetfilterRulesStale';

export interface RulesCondition {
  status: 'True' | 'False';
  reason: string;
  message: string;
  since: Millis | undefined;
}

const namedCauses = 4;

/** Returns the condition: `True` while kube-proxy or Calico cannot write rules. Its texts have no counts, so it changes seldom. */
export function rulesConditionOf(incidents: readonly Incident[], node: string): RulesCondition {
  const open = incidents
    .filter(({ phase, code }) => phase === 'open' && isAboutRules(code))
    .toSorted((one, other) => beginOf(one) - beginOf(other) || (one.code < other.code ? -1 : 1));
  const [first] = open;
  if (first === undefined)
    return {
      status: 'False',
      reason: 'NetfilterRulesCurrent',
      message: 'No failure to write netfilter rules is known',
      since: undefined,
    };
  const codes = [...new Set(open.map(({ code }) => code))];
  const named = codes.slice(0, namedCauses).map((code) => `${code}: ${causeOf(code).title}`);
  const more = codes.length > namedCauses ? `, and ${codes.length - namedCauses} more` : '';
  return {
    status: 'True',
    reason: causeOf(first.code).reason,
    message: `${named.join('; ')}${more}. Details: kubectl describe node ${node}`,
    since: beginOf(first),
  };
}

function isAboutRules(code: string): boolean {
  return /^KN[12]/.test(code) && causeOf(code).severity === 'serious';
}

function beginOf({ opened, first }: Incident): Millis {
  return opened ?? first;
}
