/** `kubectl drops top`: shows the flows that are dropped now, as a live table on the terminal. */
import { once } from 'node:events';
import { emitKeypressEvents } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { withStatus } from '../drops/drops.ts';
import { createFilter, type FlowFilter } from '../drops/filters.ts';
import { connectAsUser, refused } from '../drops/user-cluster.ts';
import type { TopOptions } from '../options/top-options.ts';
import { paintTerminal, type Streams } from '../terminal.ts';
import { askAgents, type FlowSnapshot, listAgents } from './agents.ts';
import type { TopFlow } from './flows.ts';
import { createRates } from './rows.ts';
import { type Key, plainText, press, viewLines, type ViewState } from './view.ts';

/** The time limit of a request, so that one hanging agent does not delay the others for longer. */
const longestAnswer: Millis = 5000;

/** Resolves to the exit status. `program`: the command that the user typed, for messages. */
export async function top(
  options: TopOptions,
  program: string,
  { out, err }: Pick<Streams, 'out' | 'err'>,
  stopped: AbortSignal,
): Promise<0 | 1 | 2> {
  return await withStatus(program, { err }, async () => {
    await (options.plain ? printTables(options, out, stopped) : showScreen(options, out, stopped));
    return 0;
  });
}

type ViewContent = Pick<ViewState, 'rows' | 'leftOut' | 'agents' | 'problem'>;

/** After this time, Pods of workloads and Services are listed again. */
const filterAge: Millis = 60_000;

/** Throws a `RefusedError` if the first round is refused; a later refusal becomes the `problem`. */
async function* looks(options: TopOptions, ended: AbortSignal): AsyncGenerator<ViewContent, void> {
  const cluster = connectAsUser(options, longestAnswer);
  const { connection } = cluster;
  const asked = options.target === undefined ? [] : [options.target];
  const readFilter = async (): Promise<FlowFilter> => await createFilter(cluster, options.filters, asked);
  let filter = { ...(await readFilter()), since: performance.now() };
  const rates = createRates();
  const end = ended.aborted ? undefined : once(ended, 'abort').then(() => undefined);
  let last: ViewContent | undefined;
  for (;;) {
    const began = performance.now();
    try {
      const look = listAgents(connection, options).then((pods) => askAgents(connection, options, pods));
      const found = await Promise.race([look, end]);
      if (found === undefined) return;
      const problem = problemOf(found);
      if (last === undefined && found.flows.size === 0) throw refused(problem ?? noAgents(options));
      if (began - filter.since > filterAge) filter = { ...(await readFilter()), since: began };
      const isShown = isOf(options, Date.now());
      let leftOut = 0;
      const rows = rates.take(found.flows, performance.now(), (flow) => {
        if (!isShown(flow)) return false;
        const isMatching = filter.matches(flow);
        if (!isMatching) leftOut++;
        return isMatching;
      });
      const agents = { asked: found.agents, answered: found.flows.size };
      last = { rows, leftOut: leftOut === 0 ? undefined : { flows: leftOut, by: filter.text }, agents, problem };
    } catch (error) {
      if (last === undefined || !(error instanceof RefusedError)) throw error;
      last = { ...last, problem: error.message };
    }
    // Requests take at most a fifth of the time, however many agents there are.
    const pause = Math.max(options.interval, 4 * (performance.now() - began));
    yield last;
    await delay(pause, undefined, { signal: ended }).catch(() => {});
    if (ended.aborted) return;
  }
}

function isOf({ namespace, filters: { since = Infinity } }: TopOptions, now: Millis) {
  return ({ from, to, last }: TopFlow): boolean =>
    now - last <= since && (namespace === undefined || from.namespace === namespace || to.namespace === namespace);
}

function problemOf({ problems, agents }: FlowSnapshot): string | undefined {
  const [most, ...others] = [...problems].toSorted(([, a], [, b]) => b.length - a.length);
  if (most === undefined) return undefined;
  const [problem, nodes] = most;
  const who = nodes.length === 1 ? `agent on ${nodes[0] || 'no Node'}` : `${nodes.length} of ${agents} agents`;
  return `${who}: ${problem}${others.length > 0 ? `; and ${others.length} other problems` : ''}`;
}

function noAgents({ agents: { namespace }, node }: TopOptions): string {
  return `no agent runs in namespace ${namespace}${node === undefined ? '' : ` on ${node}`} (--agents-namespace)`;
}

function stateOf({ sort, filter, namespace }: TopOptions, seen: ViewContent): ViewState {
  const scope = namespace === undefined ? 'all namespaces' : `namespace ${namespace}`;
  return { ...seen, sort, filter, scope, reversed: false, isTyping: false, selected: 0 };
}

/** Prints the first table after the second round, because rates need two rounds. */
async function printTables(options: TopOptions, out: Streams['out'], stopped: AbortSignal): Promise<void> {
  const { count = Infinity } = options;
  let looked = 0;
  for await (const seen of looks(options, stopped)) {
    if (looked > 0) out(`${looked === 1 ? '' : '\n'}${plainText(stateOf(options, seen), Date.now())}`);
    if (looked++ >= count) return;
  }
}

async function showScreen(options: TopOptions, write: Streams['out'], stopped: AbortSignal): Promise<void> {
  const quit = new AbortController();
  const later = looks(options, AbortSignal.any([quit.signal, stopped]));
  const first = await later.next();
  if (first.done === true) return;
  let state = stateOf(options, first.value);
  const draw = (): void => {
    const lines = viewLines(state, screenSize(), Date.now(), paintTerminal);
    write(`${escape}H${lines.map((line) => `${line}${escape}K`).join('\r\n')}${escape}J`);
  };
  const onKey = (_: string | undefined, key: Key): void => {
    const pressed = press(state, key, Math.max(1, screenSize().lines - 5));
    if (pressed === 'quit') return quit.abort();
    state = pressed;
    draw();
  };
  const close = openScreen(write, onKey, draw);
  try {
    draw();
    for await (const seen of later) {
      state = { ...state, ...seen };
      draw();
    }
  } finally {
    close();
  }
}

const escape = '\u001B[';
/** Enters the alternate screen, hides the cursor and turns wrapping off. */
const enter = `${escape}?1049h${escape}?25l${escape}?7l`;
const leave = `${escape}?7h${escape}?25h${escape}?1049l`;

function screenSize(): { columns: number; lines: number } {
  return { columns: process.stdout.columns || 80, lines: process.stdout.rows || 24 };
}

function openScreen(
  write: Streams['out'],
  onKey: (text: string | undefined, key: Key) => void,
  onResize: () => void,
): () => void {
  const { stdin, stdout } = process;
  let isOpen = true;
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.on('keypress', onKey).resume();
  stdout.on('resize', onResize);
  process.once('exit', close);
  write(enter);
  return close;

  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    process.off('exit', close);
    stdout.off('resize', onResize);
    stdin.off('keypress', onKey).pause();
    try {
      stdin.setRawMode(false);
      write(leave);
    } catch {
      // The terminal is gone.
    }
  }
}
