import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const WITHIN_MS = 20_000;

/** One line of its log, as pino writes them. */
export type LogEntry = Readonly<Record<string, unknown>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A running `kube-netfilter-tailer run`. What is waited for rejects, with the last it printed, when it ends or after 20 s. */
export interface AgentProcess {
  readonly pid: number;
  /** All so far. */
  readonly log: readonly LogEntry[];
  /** The first that matches, of those that are there and those to come. */
  readonly untilLog: (matches: (entry: LogEntry) => boolean) => Promise<LogEntry>;
  /** Its answer to GET; waits until it has said where it listens. `path` starts with `/`. */
  readonly get: (path: string) => Promise<Answer>;
  /** Until /readyz answers 200. */
  readonly untilReady: () => Promise<void>;
  readonly signal: (signal: NodeJS.Signals) => void;
  readonly untilExit: () => Promise<Exit>;
  /** Kills it if it still runs; for the end of every test that starts one. */
  readonly kill: () => Promise<void>;
}

/**
 * Starts `command run args` with no environment but `env`. `command` is a program and its first arguments. It dies with
 * the process that started it, however that ends.
 */
export function startAgent(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): AgentProcess {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command, 'run', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const changes = new EventEmitter().setMaxListeners(0);
  const log: LogEntry[] = [];
  const printed: string[] = [];
  let exit: Exit | undefined;
  createInterface(child.stdout).on('line', (line) => {
    printed.push(line);
    log.push(parse(line));
    changes.emit('change');
  });
  createInterface(child.stderr).on('line', (line) => printed.push(line));
  child.on('close', (code, signal) => {
    exit = { code, signal };
    changes.emit('change');
  });

  const untilLog: AgentProcess['untilLog'] = (matches) => until(() => log.find(matches), 'a line of its log');
  const get: AgentProcess['get'] = async (path) => {
    const { metricsAddress } = await untilLog((entry) => 'metricsAddress' in entry);
    const response = await fetch(`http://${String(metricsAddress)}${path}`);
    return { status: response.status, body: await response.text() };
  };

  return {
    pid: child.pid ?? 0,
    log,
    untilLog,
    get,
    async untilReady() {
      const deadline = performance.now() + WITHIN_MS;
      for (;;) {
        const { status, body } = await get('/readyz');
        if (status === 200) return;
        if (performance.now() > deadline) throw failure(`it is not ready: ${body}`);
        await delay(50);
      }
    },
    signal: (signal) => void child.kill(signal),
    untilExit: async () => {
      if (exit === undefined) await until(() => exit, 'its end', true);
      return exit as Exit;
    },
    async kill() {
      if (exit !== undefined) return;
      child.kill('SIGKILL');
      await until(() => exit, 'its end', true);
    },
  };

  async function until<T>(look: () => T | undefined, what: string, mayEnd = false): Promise<T> {
    const signal = AbortSignal.timeout(WITHIN_MS);
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (exit !== undefined && !mayEnd) throw failure(`it ended (${exit.signal ?? exit.code}) before ${what} came`);
      try {
        await once(changes, 'change', { signal });
      } catch (cause) {
        throw failure(`${what} did not come within ${WITHIN_MS / 1000} s`, cause);
      }
    }
  }

  function failure(what: string, cause?: unknown): Error {
    return new Error(`[agent] ${what}\n${printed.slice(-30).join('\n')}`, { cause });
  }
}

/** Anything that is no JSON is a line too. */
function parse(line: string): LogEntry {
  try {
    return JSON.parse(line) as LogEntry;
  } catch {
    return { text: line };
  }
}
