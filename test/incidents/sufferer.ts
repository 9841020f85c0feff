import type { Sufferer } from '../../src/incidents/pointers.ts';

/** A Pod that runs well. */
export function sufferer(name: string, given: Partial<Sufferer> = {}): Sufferer {
  return {
    namespace: 'shop',
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '7',
    hostNetwork: false,
    running: true,
    trouble: undefined,
    ...given,
  };
}
