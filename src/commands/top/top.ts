/** `kubectl drops top`: what is dropped now, as a live table on the terminal. */
import { emitKeypressEvents } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { RefusedError } from '../../kubernetes/refusal.ts';
import type { Millis } from '../../model/log-line.ts';
import { withStatus } from '../drops/drops.ts';
import { connectAsUser, refused } from '../drops/events.ts';
import type { TopOptions } from '../options/top-options.ts';
import { paintTerminal, type Streams } from '../terminal.ts';
import { askAgents, createRates, listAgents, type Look } from './rows.ts';
import { type Key, plainText, press, type Size, viewLines, type ViewState } from './view.ts';

/** One agent that hangs must not hold up the others for long. */
const longestAnswer: Millis = 5000;

/** Resolves to the exit status. `program`: what the user typed. */
export async function top(
  options: TopOptions,
  program: string,
  streams: Pick<Streams, 'out' | 'err'>,
  stopped: AbortSignal,
): Promise<0 | 1 | 2> {
  return await withStatus(program, streams, async () => {
    const looks = createLooks(options);
    const first = await looks.look();
    if (options.plain) await printTables(options, looks, streams, stopped);
    else await showScreen(options, looks, first, streams.out, stopped);
    return 0;
  });
}

type Seen = Pick<ViewState, 'rows' | 'agents' | 'problem'>;

/** Milliseconds between two looks. The API server is asked for a fifth of the time at most, however many agents there are. */
export function pauseAfter(took: Millis, interval: Millis): Millis {
  return Math.max(interval, 4 * took);
}

/** Looks at all agents. The first look rejects with a `RefusedError` where none can be asked; later ones say so in `problem`. */
function createLooks(options: TopOptions) {
  const { connection } = connectAsUser(options, longestAnswer);
  const rates = createRates();
  let isFirst = true;
  let last: Seen = { rows: [], agents: { asked: 0, answered: 0 }, problem: undefined };
  let took: Millis = 0;
  return { look, next };

  async function look(): Promise<Seen> {
    const began = performance.now();
    try {
      const pods = await listAgents(connection, options);
      const found = await askAgents(connection, options, pods);
      const problem = problemOf(found);
      if (isFirst && found.flows.size === 0) throw refused(problem ?? noAgents(options));
      const rows = rates.take(found.flows, performance.now()).filter(isOf(options.namespace));
      last = { rows, agents: { asked: found.agents, answered: found.flows.size }, problem };
    } catch (error) {
      if (isFirst || !(error instanceof RefusedError)) throw error;
      last = { ...last, problem: error.message };
    }
    isFirst = false;
    took = performance.now() - began;
    return last;
  }

  /** Looks again after a pause; undefined where `ended` comes first. */
  async function next(ended: AbortSignal): Promise<Seen | undefined> {
    await delay(pauseAfter(took, options.interval), undefined, { signal: ended }).catch(() => {});
    return ended.aborted ? undefined : await Promise.race([look(), aborted(ended)]);
  }
}

type Looks = ReturnType<typeof createLooks>;

function isOf(namespace: string | undefined) {
  return ({ namespaces }: { namespaces: readonly string[] }): boolean =>
    namespace === undefined || namespaces.includes(namespace);
}

function problemOf({ problems, agents }: Look): string | undefined {
  const [most, ...others] = [...problems].toSorted(([, a], [, b]) => b - a);
  if (most === undefined) return undefined;
  const [problem, count] = most;
  return `${count} of ${agents} agents: ${problem}${others.length > 0 ? `; and ${others.length} other problems` : ''}`;
}

function noAgents({ agents: { namespace }, node }: TopOptions): string {
  return `no agent runs in namespace ${namespace}${node === undefined ? '' : ` on ${node}`} (--agents-namespace)`;
}

function stateOf({ sort, filter, namespace }: TopOptions, seen: Seen): ViewState {
  const scope = namespace === undefined ? 'all namespaces' : `namespace ${namespace}`;
  return { ...seen, sort, filter, scope, reversed: false, isTyping: false, selected: 0 };
}

async function printTables(
  options: TopOptions,
  { next }: Looks,
  { out }: Pick<Streams, 'out'>,
  stopped: AbortSignal,
): Promise<void> {
  const { count = Infinity } = options;
  for (let printed = 0; printed < count; printed++) {
    const seen = await next(stopped);
    if (seen === undefined) return;
    out(`${printed === 0 ? '' : '\n'}${plainText(stateOf(options, seen), Date.now())}`);
  }
}

async function showScreen(
  options: TopOptions,
  { next }: Looks,
  first: Seen,
  write: (text: string) => void,
  stopped: AbortSignal,
): Promise<void> {
  const quit = new AbortController();
  const ended = AbortSignal.any([quit.signal, stopped]);
  let state = stateOf(options, first);
  const draw = (): void => screen.draw(viewLines(state, screen.size(), Date.now(), paintTerminal));
  const screen = openScreen({
    input: process.stdin,
    output: process.stdout,
    write,
    onResize: () => draw(),
    onKey(key) {
      const pressed = press(state, key, Math.max(1, screen.size().lines - 4));
      if (pressed === 'quit') return quit.abort();
      state = pressed;
      draw();
    },
  });
  try {
    draw();
    for (let seen = await next(ended); seen !== undefined; seen = await next(ended)) {
      state = { ...state, ...seen };
      draw();
    }
  } finally {
    screen.stop();
  }
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  if (signal.aborted) resolve(undefined);
  signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return await promise;
}

export interface Screen {
  readonly size: () => Size;
  readonly draw: (lines: readonly string[]) => void;
  readonly stop: () => void;
}

export interface ScreenOptions {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly write: (text: string) => void;
  readonly onKey: (key: Key) => void;
  readonly onResize: () => void;
}

const escape = '\u001B[';
/** The terminal's alternate screen leaves what stood on it untouched; the cursor is hidden, and lines are not wrapped. */
const enter = `${escape}?1049h${escape}?25l${escape}?7l`;
const leave = `${escape}?7h${escape}?25h${escape}?1049l`;

export function openScreen({ input, output, write, onKey, onResize }: ScreenOptions): Screen {
  let isOpen = true;
  const onPress = (_: string | undefined, key: Key): void => onKey(key);
  emitKeypressEvents(input);
  input.setRawMode(true);
  input.on('keypress', onPress).resume();
  output.on('resize', onResize);
  process.once('exit', stop);
  write(enter);
  return {
    size: () => ({ columns: output.columns || 80, lines: output.rows || 24 }),
    draw(lines) {
      if (isOpen) write(`${escape}H${lines.map((line) => `${line}${escape}K`).join('\r\n')}${escape}J`);
    },
    stop,
  };

  function stop(): void {
    if (!isOpen) return;
    isOpen = false;
    process.off('exit', stop);
    output.off('resize', onResize);
    input.off('keypress', onPress).pause();
    try {
      input.setRawMode(false);
      write(leave);
    } catch {
      // The terminal is gone.
    }
  }
}
