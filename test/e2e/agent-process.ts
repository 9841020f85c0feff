import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { until } from './until.ts';

/** Only what hangs takes so long; a loaded machine is slow. */
const WITHIN_MS = 60_000;

/** One line of its log, as pino writes them. */
export type LogEntry = Readonly<Record<string, unknown>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running agent. All that is awaited rejects, with the last that it printed, when it ends before or after a minute. */
export interface AgentProcess {
  /** undefined if it could not be started. */
  readonly pid: number | undefined;
  /** All so far. */
  readonly log: readonly LogEntry[];
  /** The text on standard error so far; all of it once it has ended. */
  readonly errors: string;
  /** The first that matches, of those that are there and those to come. */
  readonly untilLog: (matches: (entry: LogEntry) => boolean, withinMs?: number) => Promise<LogEntry>;
  /** Its answer to GET, as soon as it has logged where it listens. `path` starts with `/`. */
  readonly get: (path: string) => Promise<{ readonly status: number; readonly body: string }>;
  /** Resolves when /readyz answers 200. */
  readonly untilReady: () => Promise<void>;
  readonly signal: (signal: NodeJS.Signals) => void;
  readonly untilExit: (withinMs?: number) => Promise<Exit>;
  /** Kills it if it still runs: for the end of every test that starts one. */
  readonly kill: () => Promise<void>;
}

/**
 * Starts `command verb args` with no other environment than `env`. `command` is the path of a program and its first
 * arguments. It never outlives the process that starts it.
 */
export function startAgent(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  verb = 'run',
): AgentProcess {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command, verb, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: LogEntry[] = [];
  const errors: string[] = [];
  const printed: string[] = [];
  let exit: Exit | undefined;
  createInterface(child.stdout).on('line', (line) => {
    printed.push(line);
    const entry = parse(line);
    if (entry !== undefined) log.push(entry);
  });
  createInterface(child.stderr).on('line', (line) => {
    printed.push(line);
    errors.push(line);
  });
  child.on('error', (error) => printed.push(error.message));
  child.on('close', (code, signal) => (exit = { code, signal }));
  const closed = once(child, 'close').catch(() => {});

  const problem = (what: string, cause?: unknown): Error => {
    const state = exit === undefined ? '' : `; it ended with ${exit.signal ?? `code ${exit.code}`}`;
    return new Error(`[agent] ${what}${state}. It printed last:\n${printed.slice(-20).join('\n')}`, { cause });
  };
  const untilLog: AgentProcess['untilLog'] = (matches, withinMs = WITHIN_MS) => {
    const what = `no log line for ${String(matches)}`;
    const look = (): LogEntry | undefined => {
      const found = log.find(matches);
      if (found === undefined && exit !== undefined) throw problem(what);
      return found;
    };
    return until(look, () => problem(what).message, withinMs);
  };
  const get: AgentProcess['get'] = async (path) => {
    const { metricsAddress } = await untilLog((entry) => typeof entry.metricsAddress === 'string');
    try {
      const signal = AbortSignal.timeout(WITHIN_MS);
      // A connection of its own: one that was kept may be closed just when it is used again.
      const request = httpGet(`http://${String(metricsAddress)}${path}`, { signal, agent: false });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, body: await text(response) };
    } catch (cause) {
      throw problem(`no answer to GET ${path}`, cause);
    }
  };

  return {
    pid: child.pid,
    log,
    get errors() {
      return errors.join('\n');
    },
    untilLog,
    get,
    untilReady: async () => {
      let answer = { status: 0, body: '' };
      const isReady = async (): Promise<boolean> => (answer = await get('/readyz')).status === 200;
      await until(isReady, () => problem(`not ready: ${answer.status} ${answer.body}`).message, WITHIN_MS);
    },
    signal: (signal) => void child.kill(signal),
    untilExit: (withinMs) =>
      until(
        () => exit,
        () => problem('it does not end').message,
        withinMs,
      ),
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

function parse(line: string): LogEntry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as LogEntry) : undefined;
  } catch {
    // Shows in the message of whatever then does not come.
    return undefined;
  }
}
