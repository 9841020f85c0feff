/** Signs that the logs, the saved objects and `--node` do not belong together. */
import { suggest } from '../../config/suggest.ts';
import type { Statistics } from '../../pipeline/statistics.ts';
import { type Directory, shorten } from '../../resolving/directory.ts';
import type { ClusterObjects } from '../../resolving/objects.ts';
import type { ReplayOptions } from '../options/replay-options.ts';

/** So many names are shown, of perhaps thousands. */
const shown = 5;

/** For a `--node` that neither an object nor a line (`hosts`) knows; undefined when it is known, or when they name no node. */
export function unknownNode(
  { node }: Pick<ReplayOptions, 'node'>,
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

/** Where interfaces of Pods were seen, and not one is of a saved Pod: the objects are of another cluster. */
export function otherCluster(
  { pods: files }: Pick<ReplayOptions, 'pods'>,
  { podCount }: Pick<Directory, 'podCount'>,
  { podInterfaces }: Pick<Statistics, 'podInterfaces'>,
): string | undefined {
  if (podCount === 0 || podInterfaces.seen === 0 || podInterfaces.known > 0) return undefined;
  return (
    `${files.join(', ')}: none of its Pods (${podCount}) owns any of the interfaces in the logs (${podInterfaces.seen} lines name one): ` +
    'it is of another cluster, or of another time. Addresses may be given to the wrong Pods.'
  );
}
