import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A journald of its own, which reads the real kernel's log. */
export interface Journald {
  /** For journalctl, which runs outside. */
  readonly directory: string;
  /** Another boot id from now on; records stay. What is logged meanwhile is read afterwards. */
  readonly reboot: () => Promise<void>;
  /** All records so far are gone. */
  readonly empty: () => Promise<void>;
  /** A service of this name, which prints lines. */
  readonly startUnit: (unit: string) => Promise<JournaldUnit>;
  readonly stop: () => Promise<void>;
}

export interface JournaldUnit {
  /** One line, without its end. */
  readonly write: (line: string) => void;
  readonly stop: () => Promise<void>;
}

export async function startJournald(): Promise<Journald> {
  const unshare = spawn(
    'unshare',
    [
      '--mount',
      '--propagation',
      'private',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      join(import.meta.dirname, 'journald.sh'),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const ended = once(unshare, 'exit');
  const answers = createInterface({ input: unshare.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<string> => {
    const { done, value } = await answers.next();
    if (done === true) throw new Error('[journal] journald could not be started');
    return value;
  };
  const send = async (command: string): Promise<void> => {
    unshare.stdin.write(`${command}\n`);
    await answer();
  };
  const pid = await answer();
  return {
    directory: `/proc/${pid}/root/run/log/journal`,
    reboot: () => send('reboot'),
    empty: () => send('empty'),
    startUnit: (unit) => startUnit(pid, unit),
    stop: async () => {
      unshare.stdin.end();
      await ended;
    },
  };
}

/** Within its namespaces: who writes must be a process that journald can see. */
async function startUnit(pid: string, unit: string): Promise<JournaldUnit> {
  const writer = join(import.meta.dirname, 'unit-writer.ts');
  const socket = '/run/systemd/journal/stdout';
  const child = spawn(
    'nsenter',
    [`--target=${pid}`, '--mount', '--pid', process.execPath, writer, socket, unit, unit.replace('.service', '')],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'exit');
  await Promise.race([
    once(child.stdout, 'data'),
    ended.then(() => {
      throw new Error(`[journal] ${unit} could not connect to journald`);
    }),
  ]);
  return {
    write: (line) => void child.stdin.write(`${line}\n`),
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
