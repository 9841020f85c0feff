import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type Journald = Awaited<ReturnType<typeof startJournald>>;
export type JournaldUnit = Awaited<ReturnType<typeof startUnit>>;

/** A journald of its own, which reads the real kernel's log. */
export async function startJournald() {
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
    /** For journalctl, which runs outside the namespaces. */
    directory: `/proc/${pid}/root/run/log/journal`,
    /** From now on another boot id; records stay. Lines that are logged in the meantime are read afterwards. */
    reboot: () => send('reboot'),
    /** Deletes all records. */
    empty: () => send('empty'),
    /** Starts a service of this name, which prints lines. */
    startUnit: (unit: string) => startUnit(pid, unit),
    async stop() {
      unshare.stdin.end();
      await ended;
    },
  };
}

/** Runs within its namespaces, because journald must be able to see the process that writes. */
async function startUnit(pid: string, unit: string) {
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
    /** Writes one line, given without its line break. */
    write: (line: string) => void child.stdin.write(`${line}\n`),
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
