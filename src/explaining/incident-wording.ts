import { humanDuration } from '../duration.ts';
import type { IncidentStory, Millis, NamedService } from '../model.ts';
import { printable } from '../printable.ts';
import { causeOf } from './causes/catalogue.ts';
import { hints } from './diagnosis.ts';

/** Bytes of an Event's message; what is cut off must never be the code that leads to the page. */
const room = 1024;

/** The message of an Event about an incident, of at most 1,024 bytes: what matters least gives way. */
export function incidentMessage(story: IncidentStory, node: string, lowerBound = ''): string {
  if (story.role === 'pointer') return story.phase === 'open' ? pointer(story, node) : pointerOver(story, node);
  return story.phase === 'open' ? full(story, node, lowerBound) : fullOver(story, node);
}

/** A sentence and how much it matters; 0 stays whatever happens. */
type Part = readonly [rank: number, text: string];

function full(story: IncidentStory, node: string, lowerBound: string): string {
  const cause = causeOf(story.diagnosis);
  const [firstHint = '', secondHint = ''] = hints(story);
  return fitted(
    [
      [0, cause.what(story, node)],
      [2, `${times(story.failures)} since ${instant(story.since, story.last)}${restarts(story)}.`],
      [4, lowerBound],
      [6, story.quote === '' ? '' : `Last said: "${printable(story.quote)}".`],
      [3, servicesText(story)],
      [2, cause.why(story, node)],
      [1, cause.fix(story, node)],
      [5, affectedText(story)],
      [4, firstHint],
      [7, secondHint],
    ],
    story,
  );
}

function fullOver(story: IncidentStory, node: string): string {
  const { since, last, ended, endedBy, failures } = story;
  const end = ended ?? last;
  return fitted(
    [
      [0, `Over on ${node}: ${lowerFirst(causeOf(story.diagnosis).title)}.`],
      [
        1,
        `It lasted ${humanDuration(end - since)}, with ${failures} ${failures === 1 ? 'failure' : 'failures'} from ${instant(since, end)} to ${instant(last, end)}${restarts(story)}.`,
      ],
      [2, endedBy === 'success' ? 'The last attempt succeeded.' : 'It has not been logged again since.'],
      [3, servicesText(story)],
    ],
    story,
  );
}

function pointer(story: IncidentStory, node: string): string {
  const cause = causeOf(story.diagnosis);
  return fitted(
    [
      [0, cause.hurts?.(story) ?? ''],
      [
        1,
        `The cause is on ${node}, not in this Pod, since ${instant(story.since, story.last)}: ${lowerFirst(cause.title)}.`,
      ],
      [3, servicesText(story)],
      [2, `All about it: kubectl describe node ${node}`],
    ],
    story,
  );
}

function pointerOver(story: IncidentStory, node: string): string {
  const end = story.ended ?? story.last;
  return fitted(
    [
      [0, `Over on ${node} since ${instant(end, end)}: ${lowerFirst(causeOf(story.diagnosis).title)}.`],
      [1, `It had lasted ${humanDuration(end - story.since)}.`],
    ],
    story,
  );
}

/** Joins as many parts as fit, the code after them. */
function fitted(parts: readonly Part[], { diagnosis, code }: IncidentStory): string {
  const mark = diagnosis === code ? `[${code}]` : `[${diagnosis}, ${code}]`;
  let kept = parts.filter(([, text]) => text !== '');
  const whole = (): string => [...kept.map(([, text]) => text), mark].join(' ');
  while (Buffer.byteLength(whole()) > room) {
    const least = Math.max(...kept.map(([rank]) => rank));
    if (least === 0) break;
    kept = kept.filter(([rank]) => rank !== least);
  }
  return whole();
}

/** `Seen 14 times`. */
function times(failures: number): string {
  return `Seen ${failures === 1 ? 'once' : `${failures} times`}`;
}

function restarts({ restarts: count }: IncidentStory): string {
  if (count === 0) return '';
  return `, with ${count} ${count === 1 ? 'restart' : 'restarts'} of the container`;
}

/** `Services named: shop/postgres port postgres (behind it shop/postgres-0 on node-b), and 3 more.` */
function servicesText({ services, moreServices }: IncidentStory): string {
  if (services.length === 0) return '';
  const more = moreServices > 0 ? `, and ${moreServices} more` : '';
  const named = services.slice(0, 3).map(serviceText).join(', ');
  const hidden = services.length > 3 ? `, and ${services.length - 3 + moreServices} more` : more;
  return `${services.length + moreServices === 1 ? 'Service' : 'Services'} named: ${named}${hidden}.`;
}

function serviceText({ object, ports, backends, moreBackends, deleted }: NamedService): string {
  const port = ports.length === 0 ? '' : ` port ${ports.join(' and ')}`;
  const behind =
    backends.length === 0
      ? ''
      : `behind it ${backends.join(', ')}${moreBackends > 0 ? ` and ${moreBackends} more` : ''}`;
  const notes = [deleted ? 'deleted since' : '', behind].filter((note) => note !== '').join('; ');
  return `${object.namespace}/${object.name}${port}${notes === '' ? '' : ` (${notes})`}`;
}

/** `110 Pods of this node are hit, of those in trouble: shop/web-0 and 3 more.` */
function affectedText({ affected: { count, names } }: IncidentStory): string {
  if (count === 0) return '';
  const shown = names.slice(0, 3).join(', ');
  const rest = count - Math.min(names.length, 3);
  return `It hits ${shown}${rest > 0 ? `${shown === '' ? '' : ' and '}${rest} more ${rest === 1 ? 'Pod' : 'Pods'} on this node` : ''}.`;
}

/** `12:03:04 UTC`, with the date where `near` is of another day. */
function instant(time: Millis, near: Millis): string {
  const [date = '', clock = ''] = new Date(time).toISOString().split('T');
  const isSameDay = new Date(near).toISOString().startsWith(date);
  return `${isSameDay ? '' : `${date} `}${clock.slice(0, 8)} UTC`;
}

function lowerFirst(text: string): string {
  // Not the first letter of a name written in capitals, such as BGP.
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
