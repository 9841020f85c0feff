import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../network/command.ts';
import type { Network } from '../network/network.ts';

export const folder = join(import.meta.dirname, '../../../deploy/logging');

export type NodeShell = ReturnType<typeof nodeShell>;

export function nodeShell({ node: namespace }: Network) {
  const runIn = async (command: string, args: readonly string[], input?: string): Promise<string> => {
    const { stdout } = await run('ip', ['netns', 'exec', namespace, command, ...args], input);
    return stdout;
  };
  return {
    namespace,
    /** Runs a program in the node's network namespace; resolves to its standard output. */
    run: runIn,
    /** Runs a script of deploy/logging, for the iptables backend named. */
    script(name: string, args: readonly string[], backend?: string): Promise<string> {
      const commands =
        backend === undefined ? [] : [`IPTABLES=${backend}`, `IP6TABLES=${backend.replace('ip', 'ip6')}`];
      return runIn('env', [...commands, join(folder, name), ...args]);
    },
    /** Writes a value below /proc/sys/net. */
    async set(path: string, value: number): Promise<void> {
      await runIn('sh', ['-c', `echo ${value} > /proc/sys/net/${path}`]);
    },
  };
}

export async function readShipped(name: string): Promise<string> {
  return readFile(join(folder, name), 'utf8');
}
