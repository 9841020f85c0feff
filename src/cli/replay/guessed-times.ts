/** Finds packets whose time is not known, and which may be another Pod's for that reason. */
import type { Endpoint } from '../../base/model/endpoint.ts';
import type { Drop, PacketSink } from '../../count/pipeline/pipeline.ts';
import type { Directory } from '../../explain/resolving/resolving.ts';

/** How many addresses are kept, and how many names of Pods are shown. */
const mostAddresses = 256;
const mostNames = 4;

export interface GuessedTimes {
  /** Hands all packets on. */
  readonly sink: PacketSink;
  /** Returns what is wrong; undefined if no packet may be another Pod's. */
  problem: () => string | undefined;
}

export function createGuessedTimes(directory: Pick<Directory, 'podsWith'>, next: PacketSink | undefined): GuessedTimes {
  const names = new Map<string, readonly string[]>();
  let packets = 0;
  let first: string | undefined;

  return {
    sink: {
      ...next,
      drop(drop) {
        note(drop);
        next?.drop(drop);
      },
    },
    problem: () =>
      first &&
      `${packets.toLocaleString('en-US')} packets have no wall-clock time, and may be another Pod's: ${first}. Say when they were logged with --boot-time, or save the log with its times`,
  };

  function note({ line, meaning: { ends, noise }, weight }: Drop): void {
    if (line.timeIsExact || noise !== undefined) return;
    const unsure = [ends.source, ends.destination].find(
      ({ address, evidence }) => evidence !== 'interface' && podsWith(address).length > 1,
    );
    if (unsure === undefined) return;
    packets += weight;
    first ??= textOf(unsure);
  }

  function podsWith(address: string): readonly string[] {
    const known = names.get(address);
    if (known !== undefined) return known;
    const found = [...new Set(directory.podsWith(address).map(({ namespace, name }) => `${namespace}/${name}`))];
    if (names.size < mostAddresses) names.set(address, found);
    return found;
  }

  function textOf({ address }: Endpoint): string {
    const all = podsWith(address);
    const more = all.length > mostNames ? ` and ${all.length - mostNames} more` : '';
    return `${address} was an address of ${all.slice(0, mostNames).join(', ')}${more}`;
  }
}
