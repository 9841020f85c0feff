import type { Node } from './objects.ts';

/** Finds a node by its own or a host name, in full or short, in any case. A short name that two nodes share finds neither. */
export function indexNodeNames(nodes: readonly Node[]): (name: string) => Node | undefined {
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
  return (name) => {
    const wanted = name.toLowerCase();
    return full.get(wanted) ?? full.get(shorten(wanted)) ?? short.get(shorten(wanted));
  };
}

/** `ip-10-0-1-3.ec2.internal` → `ip-10-0-1-3`; an address stays whole. */
export function shorten(name: string): string {
  return /^[\d.]+$/.test(name) ? name : (name.split('.', 1)[0] ?? name);
}
