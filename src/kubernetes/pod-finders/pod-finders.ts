import type { LookupWay } from '../../model/lookup-way.ts';
import type { PodFinder } from '../../resolving/lookups/pod-finder.ts';
import { createCalicoBlockFinder } from './calico-block.ts';
import { createFieldSelectorFinder } from './field-selector.ts';
import { createPodCidrFinder, type PodRanges } from './pod-cidr.ts';
import type { PodListOptions } from './pod-list.ts';

export interface PodFindersOptions extends PodListOptions {
  /** In the order in which they are tried. */
  ways: readonly LookupWay[];
  ranges: PodRanges;
  directory: PodFinder;
}

export function createPodFinders({ ways, directory, ...options }: PodFindersOptions): PodFinder[] {
  const make: Readonly<Record<LookupWay, () => PodFinder>> = {
    'calico-block': () => createCalicoBlockFinder(options),
    'pod-cidr': () => createPodCidrFinder(options),
    directory: () => directory,
    'field-selector': () => createFieldSelectorFinder(options),
  };
  return ways.map((way) => make[way]());
}
