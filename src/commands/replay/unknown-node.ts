import { suggest } from '../../config/suggest.ts';
import { shorten } from '../../resolving/node-names.ts';
import type { ClusterObjects } from '../../resolving/objects.ts';

/** So many names are shown, of perhaps thousands. */
const shown = 5;

/**
 * What to say of a `--node` that neither an object nor a line knows, such as a misspelt one; undefined when it is known, or when
 * they name no node at all. `hosts`: the host names in the lines.
 */
export function strangeNode(
  node: string | undefined,
  { nodes, pods }: ClusterObjects,
  hosts: ReadonlySet<string>,
): string | undefined {
  const names = [...new Set([...nodes.map(({ name }) => name), ...pods.flatMap((pod) => pod.node ?? []), ...hosts])];
  if (node === undefined || names.length === 0) return undefined;
  const all = [...names, ...nodes.flatMap(({ hostNames }) => hostNames)].map((name) => name.toLowerCase());
  const known = new Set([...all, ...all.map(shorten)]);
  if (known.has(node.toLowerCase()) || known.has(shorten(node.toLowerCase()))) return undefined;
  const more = names.length > shown ? ` and ${names.length - shown} more` : '';
  return `no object and no line knows ${node} (--node); they name ${names.slice(0, shown).join(', ')}${more}${suggest(node, names)}`;
}
