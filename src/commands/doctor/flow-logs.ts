/** The files to which data planes write what they drop, and what makes them do so. */
import { documentAt } from '../../config/docs-url.ts';
import { lookAtProgramLog } from './files.ts';

/** Switches of files by their paths. */
const switches: ReadonlyMap<string, readonly [text: string, page: `docs/${string}`]> = new Map([
  [
    '/run/cilium/hubble/events.log',
    ["turn the export of Cilium's Hubble on, and mount that folder of the node", 'docs/logging/cilium.md'],
  ],
  [
    '/var/log/acns/hubble/events.log',
    ['create a ContainerNetworkLog: AKS writes nothing before', 'docs/networks/aks.md'],
  ],
  [
    '/var/log/network/policy_action.log',
    ['turn network policy logging on: GKE writes nothing before', 'docs/networks/gke.md'],
  ],
]);

/** Says what has to be switched on for that file, or for a source `file:PATH`; undefined: it is none of a data plane. */
export function switchOf(source: string): string | undefined {
  const found = switches.get(withoutLink(source.replace(/^file:/, '')));
  return found && `${found[0]}; doctor --enable-logging prints how, and ${documentAt(found[1])} explains it`;
}

/** Files that are there although they are none of those that are read. */
export function findUnread(read: readonly string[]): string[] {
  const known = new Set(read.map(withoutLink));
  return [...switches.keys()].filter((path) => !known.has(path) && lookAtProgramLog(path).kind === 'written');
}

/** /var/run leads to /run on every node. */
function withoutLink(path: string): string {
  return path.replace(/^\/var\/run\//, '/run/');
}
