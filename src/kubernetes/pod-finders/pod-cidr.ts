import type { Millis } from '../../model/log-line.ts';
import type { Pod } from '../../resolving/objects.ts';
import type { PodFinder } from '../../resolving/lookups/pod-finder.ts';
import { listPods, type PodListOptions } from './pod-list.ts';
import { createSharedAnswers } from './shared-answers.ts';

export interface PodRanges {
  /** The node in whose Pod range an address lies. */
  homeOf: (address: string) => string | undefined;
  /** Undefined while the Pods of this node are not listed yet. */
  followed: () => boolean | undefined;
  /** Why they are of use here, or not. For a person. */
  describe: () => string;
}

/** For how long a list of a node's Pods answers for addresses that it does not have. */
const listAge: Millis = 30_000;

/** Nodes whose list is shared; what was found stays known with the look-ups. */
const lists = 16;

/**
 * Finds the Pod of an address among those of the node in whose Pod range (`spec.podCIDRs`) the address lies: the API server has
 * an index of Pods by node. One list gives all Pods of that node. Several network plugins give addresses of other ranges
 * (Calico's own IPAM, AWS, Azure), which the Pods of this node show.
 */
export function createPodCidrFinder(options: PodListOptions & { ranges: PodRanges }): PodFinder {
  const { ranges, clock } = options;
  const podsOn = createSharedAnswers<readonly Pod[]>((node) => listPods(options, `spec.nodeName=${node}`), {
    entries: lists,
    now: clock.now,
  });

  return {
    way: 'pod-cidr',
    async find(address) {
      const home = ranges.followed() === false ? undefined : ranges.homeOf(address);
      if (home === undefined) return undefined;
      const { value } = await podsOn.get(home, listAge);
      const pods = value.filter(({ hostNetwork }) => !hostNetwork);
      // The range of a node is a promise of the control plane, which the network plugin may not keep: another way may know.
      return pods.some(({ addresses }) => addresses.includes(address)) ? { pods: structuredClone(pods) } : undefined;
    },
    look: () => Promise.resolve({ usable: ranges.followed() === true, why: ranges.describe() }),
  };
}
