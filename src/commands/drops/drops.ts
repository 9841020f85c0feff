/** `kubectl drops`: the packets that Pods lost, from the Events of the agents. */
import { printable } from '../../platform/printable.ts';
import { RefusedError } from '../../kubernetes/refusal.ts';
import type { DropsOptions } from '../options/drops-options.ts';
import type { Streams } from '../terminal.ts';
import { type Paint, paintTerminal } from '../terminal.ts';
import { AccessError, type Cluster, connectAsUser } from './cluster.ts';
import { type Listed, listDrops, watchDrops } from './events.ts';
import { createTable, printList, printOne } from './print.ts';
import { type IsSelected, selectedPods } from './selected-pods.ts';

/** `program`: what the user typed, for messages. Resolves to the exit status; with `watch` only on an error. */
export async function drops(
  options: DropsOptions,
  program: string,
  streams: Pick<Streams, 'out' | 'err'>,
  paint: Paint = paintTerminal,
): Promise<0 | 1 | 2> {
  return await withStatus(program, streams, async () => {
    const cluster = connectAsUser(options);
    const isSelected = await selectedPods(cluster, options);
    const listed = await listDrops(cluster, options, isSelected);
    const { output } = options;
    if (output === 'table' || output === 'wide')
      await printTable({ cluster, options, isSelected, listed }, streams, paint);
    else {
      if (!options.watch || listed.events.length > 0) streams.out(printList(listed.events, output));
      if (options.watch)
        for await (const event of watchDrops(cluster, options, isSelected, listed))
          streams.out(printOne(event, output));
    }
    return 0;
  });
}

/** Runs a part of `drops`: what the API server or the kubeconfig makes impossible is one line. */
export async function withStatus<T extends number>(
  program: string,
  { err }: Pick<Streams, 'err'>,
  command: () => Promise<T>,
): Promise<T | 1 | 2> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof RefusedError) && !(error instanceof AccessError)) throw error;
    err(`${program}: ${printable(error.message)}\n`);
    return error instanceof AccessError ? 2 : 1;
  }
}

async function printTable(
  {
    cluster,
    options,
    isSelected,
    listed,
  }: { cluster: Cluster; options: DropsOptions; isSelected: IsSelected | undefined; listed: Listed },
  { out, err }: Pick<Streams, 'out' | 'err'>,
  paint: Paint,
): Promise<void> {
  const table = createTable(options.output === 'wide', paint);
  let hasTitle = listed.events.length > 0;
  if (hasTitle) out(table.title(listed.events, Date.now()) + table.lines(listed.events, Date.now()));
  else err(nothing(options, cluster));
  if (!options.watch) return;
  for await (const event of watchDrops(cluster, options, isSelected, listed)) {
    if (!hasTitle) out(table.title([event], Date.now()));
    hasTitle = true;
    out(table.lines([event], Date.now()));
  }
}

/** Nothing is shown where nothing is looked for or written, too. */
function nothing({ allNamespaces }: DropsOptions, { namespace }: Cluster): string {
  const wider = allNamespaces ? '' : '; -A looks into all namespaces';
  return (
    `No lost packets are known ${namespace === undefined ? 'in this cluster' : `in namespace ${namespace}`}. An Event is kept for an hour after it was last written${wider}.\n` +
    'Are they logged, and read? kubectl exec -n kube-netfilter-tailer ds/kube-netfilter-tailer -- kube-netfilter-tailer doctor\n'
  );
}
