import { readConntrack, type Conntrack } from './conntrack.ts';
import { hostProcess } from './host-namespace.ts';
import { findNamespaceOwner, type NamespaceOwner } from './namespace-owner.ts';
import { readTopSources, type TopSources } from './top-conntrack-sources.ts';

/** Connection tracking tables and their owners, as /proc shows them. Nothing here rejects. */
export interface Proc {
  /** Of the host, or of the network namespace with that inode. */
  conntrack: (netns: number | undefined) => Promise<Conntrack | undefined>;
  topSources: (netns: number | undefined) => Promise<TopSources | undefined>;
  podOf: (netns: number) => Promise<string | undefined>;
}

/** `root`: the host's /proc, wherever it is mounted. */
export function createProc(root = '/proc'): Proc {
  /** Searches under way: questions about one namespace at the same time share one walk through the processes. */
  const searches = new Map<number, Promise<NamespaceOwner | undefined>>();

  return {
    async conntrack(netns) {
      return readConntrack(root, await processFor(netns));
    },
    async topSources(netns) {
      const process = await processFor(netns);
      return process === undefined ? undefined : readTopSources(root, process);
    },
    async podOf(netns) {
      return (await ownerOf(netns))?.pod;
    },
  };

  async function processFor(netns: number | undefined): Promise<string | undefined> {
    return netns === undefined ? hostProcess(root) : (await ownerOf(netns))?.process;
  }

  function ownerOf(netns: number): Promise<NamespaceOwner | undefined> {
    let search = searches.get(netns);
    if (search === undefined) {
      search = findNamespaceOwner(root, netns).finally(() => searches.delete(netns));
      searches.set(netns, search);
    }
    return search;
  }
}
