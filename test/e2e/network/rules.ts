import { run } from './command.ts';

export type Backend = 'iptables-legacy' | 'iptables-nft';

/**
 * Appends LOG and DROP rules to FORWARD in both address families, for all packets or for those that come in through a
 * device.
 */
export async function appendLogAndDrop(node: string, backend: Backend, prefix: string, device?: string): Promise<void> {
  const match = device === undefined ? [] : ['-i', device];
  for (const command of [backend, backend.replace('iptables', 'ip6tables')]) {
    const append = (...target: readonly string[]): Promise<unknown> =>
      // --wait: the legacy tools of all namespaces share one lock.
      run('ip', ['netns', 'exec', node, command, '--wait', '-A', 'FORWARD', ...match, ...target]);
    await append('-j', 'LOG', '--log-prefix', prefix, '--log-level', '5');
    await append('-j', 'DROP');
  }
}
