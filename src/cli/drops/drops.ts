/** `kubectl drops`: prints the packets that Pods lost, from the agents' Events. */
import { dump } from 'js-yaml';
import { didYouMean } from '../../agent/config/suggest.ts';
import { RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { at, type Json } from '../../base/platform/json.ts';
import { printable } from '../../base/platform/printable.ts';
import type { DropsFormat, DropsOptions } from '../options/drops-options.ts';
import { nameText } from '../options/target-name.ts';
import { jsonText, type Paint, paintTerminal, plural, type Streams } from '../terminal.ts';
import { type DropRow, dropRowOf } from './drop-row.ts';
import { createTable } from './drops-table.ts';
import { createQuery, type EventQuery, listDrops, watchDrops } from './events.ts';
import { isInRows, joinRows } from './joined-rows.ts';
import { hasPod, sameNameHint } from './selected-pods.ts';
import { AccessError } from './user-cluster.ts';

/** `program`: the command as the user typed it, for messages. Resolves to the exit status; with `--watch` only on an error. */
export async function drops(
  options: DropsOptions,
  program: string,
  streams: Pick<Streams, 'out' | 'err'>,
  paint: Paint = paintTerminal,
): Promise<0 | 1 | 2> {
  return await withStatus(program, streams, async () => {
    const wanted = await createQuery(options);
    const { output } = options;
    const tell = (line: string): void => streams.err(`${program}: ${line}\n`);
    if (output === 'table' || output === 'wide') await printTable(options, wanted, tell, streams, paint);
    else {
      const listed = await listDrops(wanted, (event) => (output === 'name' ? nameLine(event) : event));
      const { events, leftOut } = listed;
      if (!options.watch || events.length > 0)
        streams.out(
          printList(
            events.map(({ kept }) => kept),
            output,
          ),
        );
      if (events.length === 0 && leftOut > 0) streams.err(await nothing(wanted, leftOut));
      if (options.watch)
        for await (const event of watchDrops(wanted, listed, tell)) streams.out(printOne(event, output));
    }
    return 0;
  });
}

/** An error of the API server (exit status 1) or of the kubeconfig (2) is printed as one line. */
export async function withStatus<T extends number>(
  program: string,
  { err }: Pick<Streams, 'err'>,
  command: () => Promise<T>,
): Promise<T | 1 | 2> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof RefusedError) && !(error instanceof AccessError)) throw error;
    err(`${program}: ${printable(error.message)}${hintFor(error)}\n`);
    return error instanceof AccessError ? 2 : 1;
  }
}

function hintFor(error: RefusedError | AccessError): string {
  const isUnknown = error instanceof RefusedError && error.refusal.status === 401;
  return isUnknown ? ': the API server does not know these credentials; log in to the cluster again' : '';
}

async function printTable(
  { output, watch }: DropsOptions,
  wanted: EventQuery,
  tell: (line: string) => void,
  { out, err }: Pick<Streams, 'out' | 'err'>,
  paint: Paint,
): Promise<void> {
  const isWide = output === 'wide';
  const table = createTable(isWide, paint, process.stdout.columns);
  const listed = await listDrops(wanted, (event) => shown(event, isWide));
  const { leftOut } = listed;
  const events = listed.events.map(({ kept }) => kept);
  const rows = joinRows(events);
  let hasTitle = rows.length > 0;
  if (hasTitle) out(table.title(rows, Date.now()) + table.lines(rows, Date.now()));
  else err(await nothing(wanted, leftOut));
  if (!watch) return;
  const seen = events.slice(-mostSeen);
  for await (const event of watchDrops(wanted, listed, tell)) {
    const row = shown(event, isWide);
    const isSeen = isInRows(seen, row);
    seen.push(row);
    if (seen.length > 2 * mostSeen) seen.splice(0, mostSeen);
    if (isSeen) continue;
    if (!hasTitle) out(table.title([row], Date.now()));
    hasTitle = true;
    out(table.lines([row], Date.now()));
  }
}

/** The most rows in which a watch looks for the other Event of a packet. */
const mostSeen = 500;

/** Messages are long, and only a wide table has them. */
function shown(event: Json, isWide: boolean): DropRow {
  const row = dropRowOf(event);
  return isWide ? row : { ...row, message: '' };
}

/** `leftOut`: the number of Events that the filter has left out. */
async function nothing(query: EventQuery, leftOut: number): Promise<string> {
  const { options, namespace, filter } = query;
  const { target, allNamespaces } = options;
  const where = namespace === undefined ? 'in this cluster' : `in namespace ${namespace}`;
  const asked = askedText(options);
  const of = `${asked === '' ? '' : ` for ${printable(asked)}`} ${where}`;
  if (leftOut > 0)
    return `${plural(leftOut, 'Event')} of lost packets${of}, ${leftOut === 1 ? 'which does not match' : 'none matches'} ${printable(filter.text)}\n`;
  if (target?.kind === 'Pod' && !(await hasPod(query, target.name)))
    return `There is no Pod ${target.name} ${where}, and no lost packets of one are known${didYouMean(target.name, subcommands) || (await sameNameHint(query, target.name))}\n`;
  const wider = allNamespaces ? '' : '; -A looks into all namespaces';
  return (
    `No lost packets are known${of}. An Event is kept for an hour after it was last written${wider}.\n` +
    'Are they logged, and read? kubectl exec -n kube-netfilter-tailer ds/kube-netfilter-tailer -- kube-netfilter-tailer doctor\n'
  );
}

/** The request apart from the filter, as on the command line. */
function askedText({ target, selector, node, filters: { since } }: EventQuery['options']): string {
  return [
    target && nameText(target),
    selector && `--selector ${selector}`,
    node && `--node ${node}`,
    since && `--since ${humanDuration(since)}`,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}

/** A typo in one of these looks like the name of a Pod. */
const subcommands = ['top', 'why', 'report'];

function printList(events: readonly Json[], format: Exclude<DropsFormat, 'table' | 'wide'>): string {
  if (format === 'name') return events.join('');
  const all = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: events };
  return format === 'json' ? jsonText(all, 4) : printableYaml(all);
}

function printOne(event: Json, format: Exclude<DropsFormat, 'table' | 'wide'>): string {
  if (format === 'name') return nameLine(event);
  return format === 'json' ? jsonText(event) : `---\n${printableYaml(event)}`;
}

function nameLine(event: Json): string {
  return `event/${printable(String(at(event, 'metadata', 'name')))}\n`;
}

/** Prints YAML, or JSON if a character must not reach a terminal: JSON is YAML, too, and can escape any character. */
function printableYaml(value: Json): string {
  const plain = dump(value, { lineWidth: -1 });
  if (!/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u.test(plain)) return plain;
  return jsonText(value, 2);
}
