import type { LookupWay } from '../../model/lookup-way.ts';
import type { Clock } from '../../platform/clock.ts';
import type { PodFinder } from '../../resolving/lookups/pod-finder.ts';
import type { Connection } from '../connection.ts';
import { createCalicoBlockFinder } from './calico-block.ts';
import { createFieldSelectorFinder } from './field-selector.ts';
import { createPodCidrFinder, type PodRanges } from './pod-cidr.ts';

export interface PodFindersOptions {
  /** In the order in which they are tried. */
  ways: readonly LookupWay[];
  connection: Pick<Connection, 'request'>;
  ranges: PodRanges;
  directory: PodFinder;
  clock: Pick<Clock, 'now' | 'fromWall'>;
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
