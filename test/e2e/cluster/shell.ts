import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Ran {
  readonly status: number;
  /** Standard output and error, in the order in which they came. */
  readonly output: string;
  readonly seconds: number;
}

export type Shell = ReturnType<typeof startShell>;

/**
 * One bash, in which blocks of commands are run unchanged; variables last from one block to the next. A block stops at
 * its first command that fails. `end` ends the shell at any time; an idle shell ends with this process. `folder`: for
 * files of its own; `cwd`: where it begins.
 */
export function startShell(folder: string, cwd: string, env: NodeJS.ProcessEnv) {
  const [block, output] = [join(folder, 'block'), join(folder, 'output')];
  // `return` leaves the block: a shell with `set -e` would end.
  const loop = `while read -r; do
    trap 'status=$?; trap - ERR; return $status' ERR
    set -o pipefail
    source ${block} < /dev/null > ${output} 2>&1
    echo $?
  done`;
  const bash = spawn('bash', ['-c', loop], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(bash, 'exit');
  const answers = createInterface({ input: bash.stdout })[Symbol.asyncIterator]();
  return {
    async run(commands: string): Promise<Ran> {
      writeFileSync(block, commands);
      const started = performance.now();
      bash.stdin.write('\n');
      const { value, done } = await answers.next();
      if (done === true)
        throw new Error(`[quickstart] the shell ended in:\n${commands}\n${readFileSync(output, 'utf8')}`);
      const seconds = (performance.now() - started) / 1000;
      return { status: Number(value), output: readFileSync(output, 'utf8'), seconds };
    },
    async end(): Promise<void> {
      // A block that has not finished may have started programs, which end with it.
      if (bash.pid !== undefined) process.kill(-bash.pid, 'SIGKILL');
      await ended;
    },
  };
}
