/** `--output mermaid`: who was refused what, as a flowchart that GitHub, GitLab and many wikis draw. */
import { nameOf } from '../../drops/drops.ts';
import { orient } from '../../model/flow-identity.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import type { Drop } from '../../pipeline/pipeline.ts';

/** A picture with more arrows shows nothing. */
const mostArrows = 60;
const mostServices = 3;
/** Services of all pairs that are kept; floods with random addresses have more. */
const mostKept = 65_536;

interface Pair {
  from: Endpoint;
  to: Endpoint;
  packets: number;
  services: Map<string, number>;
}

export interface Traffic {
  add: (drop: Pick<Drop, 'observation' | 'meaning' | 'weight'>) => void;
  /** A flowchart of Mermaid: `flowchart LR`, with a node for each workload and an arrow for each pair of them. */
  mermaid: () => string;
}

export function createTraffic(): Traffic {
  const pairs = new Map<string, Pair>();
  let kept = 0;
  /** Counts packets that there was no room for. */
  let others = 0;

  return {
    add({ observation, meaning: { ends }, weight }) {
      const { what, reply } = serviceOf(observation);
      // An answer goes to the end that asked.
      const [from, to] = reply ? [ends.destination, ends.source] : [ends.source, ends.destination];
      const key = `${from.identity}|${to.identity}`;
      let pair = pairs.get(key);
      const before = pair?.services.get(what);
      if (before === undefined && kept++ >= mostKept) {
        others += weight;
        return;
      }
      if (pair === undefined) pairs.set(key, (pair = { from, to, packets: 0, services: new Map() }));
      pair.packets += weight;
      pair.services.set(what, (before ?? 0) + weight);
    },
    mermaid() {
      const sorted = [...pairs.values()].toSorted((a, b) => b.packets - a.packets);
      const left = sorted.slice(mostArrows);
      const packetsLeft = left.reduce((sum, { packets }) => sum + packets, others);
      return chartOf(sorted.slice(0, mostArrows), packetsLeft);
    },
  };
}

function serviceOf(observation: Drop['observation']): { what: string; reply: boolean } {
  if (observation.kind === 'martian') return { what: 'martian', reply: false };
  const { packet } = observation;
  const { port, reply } = orient(packet);
  if (port === undefined) return { what: packet.protocol, reply: false };
  return { what: `${port}/${packet.protocol}`, reply };
}

function chartOf(pairs: readonly Pair[], packetsLeft: number): string {
  const ids = new Map<string, string>();
  const lines = ['flowchart LR'];
  const idOf = (end: Endpoint): string => {
    let id = ids.get(end.identity);
    if (id === undefined) {
      ids.set(end.identity, (id = `n${ids.size}`));
      lines.push(`  ${id}["${labelOf(end)}"]`);
    }
    return id;
  };
  for (const pair of pairs) lines.push(`  ${idOf(pair.from)} -->|"${escaped(arrowText(pair))}"| ${idOf(pair.to)}`);
  if (packetsLeft > 0) lines.push(`  others["${packetsLeft.toLocaleString('en-US')} packets of other pairs"]`);
  if (lines.length === 1) lines.push('  none["no packet was dropped"]');
  return `${lines.join('\n')}\n`;
}

/** `5432/TCP ×36`, `53/UDP, 53/TCP and 7 more ×1,204`. */
function arrowText({ services, packets }: Pair): string {
  const names = [...services].toSorted((a, b) => b[1] - a[1]).map(([name]) => name);
  const more = names.length - mostServices;
  const named = names.slice(0, mostServices).join(', ');
  return `${named}${more > 0 ? ` and ${more} more` : ''} ×${packets.toLocaleString('en-US')}`;
}

/** The workload that counts as one peer, else the object, else the address. */
function labelOf({ workload, ...end }: Endpoint): string {
  const name = workload === undefined ? nameOf({ workload, ...end }) : `${workload.namespace}/${workload.name}`;
  const kind = workload?.kind ?? (end.object === undefined ? end.note : end.object.kind);
  return escaped(name) + (kind === undefined || name.startsWith('node ') ? '' : `<br/>${escaped(kind)}`);
}

/** Mermaid reads markup and its own entities within quotes, too. */
function escaped(text: string): string {
  return text.replaceAll(/[^\w ./:×,()-]/gu, (character) => `#${character.codePointAt(0)};`);
}
