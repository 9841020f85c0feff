import { run } from './command.ts';

export type Backend = 'iptables-legacy' | 'iptables-nft';
export type Protocol = 'tcp' | 'udp' | 'icmp';

/** The conditions of a rule; one that is not there matches everything. */
export interface Match {
  /** The node's devices. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** `icmp` is ICMPv6 in IPv6. */
  readonly protocol?: Protocol | undefined;
  /** The port of the destination; only with `tcp` or `udp`. */
  readonly port?: number | undefined;
}

/** Appends LOG and DROP to FORWARD of both address families. */
export async function appendLogAndDrop(node: string, backend: Backend, prefix: string, match: Match): Promise<void> {
  for (const command of [backend, backend.replace('iptables', 'ip6tables')]) {
    const append = (...target: readonly string[]): Promise<unknown> =>
      // --wait: the legacy tools of all namespaces share one lock.
      run('ip', ['netns', 'exec', node, command, '--wait', '-A', 'FORWARD', ...matchArgs(command, match), ...target]);
    await append('-j', 'LOG', '--log-prefix', prefix, '--log-level', '5');
    await append('-j', 'DROP');
  }
}

function matchArgs(command: string, { from, to, protocol, port }: Match): readonly string[] {
  const isIcmp6 = protocol === 'icmp' && command.startsWith('ip6');
  return [
    ...(from === undefined ? [] : ['-i', from]),
    ...(to === undefined ? [] : ['-o', to]),
    ...(protocol === undefined ? [] : ['-p', isIcmp6 ? 'ipv6-icmp' : protocol]),
    ...(port === undefined ? [] : ['--dport', String(port)]),
  ];
}
