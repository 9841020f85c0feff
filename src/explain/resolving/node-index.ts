import ipaddr from 'ipaddr.js';
import { copy } from '../../base/platform/address.ts';
import { indexByAddress } from './address-owners.ts';
import { indexPodRanges } from './endpoints.ts';
import type { Node } from './objects.ts';

/** Finds Nodes by name and address. */
export interface NodeIndex {
  readonly all: readonly Node[];
  readonly byName: (name: string) => Node | undefined;
  /** By the addresses in their status; the next field: in their annotations. */
  readonly byAddress: (address: string) => readonly Node[];
  readonly byAnnotation: (address: string) => readonly Node[];
  /** Returns the name of the Node whose Pod range contains an address. */
  readonly homeOf: (address: string) => string | undefined;
  /** Returns that range. */
  readonly podRangeOf: (address: string) => string | undefined;
}

export function indexNodes(nodes: readonly Node[]): NodeIndex {
  const byName = indexNodeNames(nodes);
  const homeOf = indexPodRanges(nodes);
  return {
    all: nodes,
    byName,
    byAddress: indexByAddress(nodes, ({ addresses }) => addresses),
    byAnnotation: indexByAddress(nodes, ({ annotated = [] }) => annotated),
    homeOf,
    podRangeOf(address) {
      const home = homeOf(address);
      return nodes.find(({ name }) => name === home)?.podRanges.find((range) => isInRange(address, range));
    },
  };
}

function isInRange(address: string, range: string): boolean {
  const [owner, network] = [ipaddr.parse(address), ipaddr.parseCIDR(range)];
  return owner.kind() === network[0].kind() && owner.match(network);
}

/** Finds a node by any of its names, full or short, in capitals or not. A short name that two nodes share finds none. */
function indexNodeNames(nodes: readonly Node[]): (name: string) => Node | undefined {
  const full = new Map<string, Node>();
  const short = new Map<string, Node | undefined>();
  for (const node of nodes) {
    for (const name of [...node.hostNames, node.name].map((each) => each.toLowerCase())) {
      full.set(name, node);
      const known = short.get(shorten(name));
      short.set(
        shorten(name),
        known === undefined && !short.has(shorten(name)) ? node : known === node ? node : undefined,
      );
    }
  }
  /** Lines of one host follow each other, and a log may be of a host that no Node has. */
  let last: { name: string; node: Node | undefined } | undefined;
  return (name) => {
    if (last?.name === name) return last.node;
    const wanted = name.toLowerCase();
    const node = full.get(name) ?? full.get(wanted) ?? full.get(shorten(wanted)) ?? short.get(shorten(wanted));
    last = { name: copy(name), node };
    return node;
  };
}

/** Shortens `ip-10-0-1-3.ec2.internal` to `ip-10-0-1-3`. An address stays as it is. */
export function shorten(name: string): string {
  return /^[\d.]+$/.test(name) ? name : (name.split('.', 1)[0] ?? name);
}
