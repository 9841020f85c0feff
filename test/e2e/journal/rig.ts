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

/**
 * The first process of its own process namespace: when it ends, the kernel ends the others and unmounts everything. It ends
 * when its standard input does, so nothing is left of it even if this process is killed.
 *
 * It starts with the boot id of an earlier boot.
 */
const script = `
set -eu
mount -t tmpfs tmpfs /run
journals=/run/log/journal/$(cat /etc/machine-id)
mkdir -p /run/systemd/journal "$journals"
boot_id=/proc/sys/kernel/random/boot_id
echo 11111111-1111-1111-1111-111111111111 > /run/boot-id
mount --bind /run/boot-id $boot_id

start() {
  rm -f /run/systemd/journal/socket
  "$(ls /usr/lib/systemd/systemd-journald /lib/systemd/systemd-journald 2> /dev/null | head -n 1)" < /dev/null > /dev/null &
  journald=$!
  until [ -S /run/systemd/journal/socket ]; do sleep 0.05; done
}
stop() {
  kill $journald
  wait $journald || true
}

start
# The process id is that of outside, where this /proc is from.
read -r pid rest < /proc/self/stat
echo $pid
while read -r command; do
  stop
  case $command in
    reboot) umount $boot_id ;;
    empty) rm -f "$journals"/* ;;
  esac
  start
  echo done
done
`;

export async function startJournald(): Promise<Journald> {
  const unshare = spawn(
    'unshare',
    ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child', 'sh', '-c', script],
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
