import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { until } from './until.ts';

/** Only a process that hangs takes so long, even on a loaded machine. */
const WITHIN_MS = 60_000;

/** One line of its log, as pino writes them. */
export type LogEntry = Readonly<Record<string, unknown>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type AgentProcess = ReturnType<typeof startAgent>;

/**
 * Starts `command verb args` with `env` as its whole environment. `command` is the path of a program and its first
 * arguments. The process never outlives the one that starts it. All waits reject after a minute, or when the process
 * ends before, with the last lines that it printed.
 */
export function startAgent(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  verb = 'run',
) {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command, verb, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  /** All entries so far. */
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
  /** The first entry that matches, among those already logged and those to come. */
  const untilLog = (matches: (entry: LogEntry) => boolean, withinMs = WITHIN_MS): Promise<LogEntry> => {
    const what = `no log line for ${String(matches)}`;
    const look = (): LogEntry | undefined => {
      const found = log.find(matches);
      if (found === undefined && exit !== undefined) throw problem(what);
      return found;
    };
    return until(look, () => problem(what).message, withinMs);
  };
  /** The agent's answer to GET, as soon as it has logged where it listens. `path` starts with `/`. */
  const get = async (path: string): Promise<{ readonly status: number; readonly body: string }> => {
    const { metricsAddress } = await untilLog((entry) => typeof entry.metricsAddress === 'string');
    try {
      const signal = AbortSignal.timeout(WITHIN_MS);
      // A new connection: a kept one may be closed just when it is used again.
      const request = httpGet(`http://${String(metricsAddress)}${path}`, { signal, agent: false });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, body: await text(response) };
    } catch (cause) {
      throw problem(`no answer to GET ${path}`, cause);
    }
  };

  return {
    /** undefined if it could not be started. */
    pid: child.pid,
    log,
    /** The text on standard error so far; all of it once it has ended. */
    get errors(): string {
      return errors.join('\n');
    },
    untilLog,
    get,
    /** Resolves when /readyz answers 200. */
    async untilReady(): Promise<void> {
      let answer = { status: 0, body: '' };
      const isReady = async (): Promise<boolean> => (answer = await get('/readyz')).status === 200;
      await until(isReady, () => problem(`not ready: ${answer.status} ${answer.body}`).message, WITHIN_MS);
    },
    signal: (signal: NodeJS.Signals): void => void child.kill(signal),
    untilExit: (withinMs?: number): Promise<Exit> =>
      until(
        () => exit,
        () => problem('it does not end').message,
        withinMs,
      ),
    /** Kills it if it still runs. To be called at the end of every test that starts one. */
    async kill(): Promise<void> {
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
    // Such a line is shown in the message of a wait that fails.
    return undefined;
  }
}
