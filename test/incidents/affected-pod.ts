import type { AffectedPod } from '../../src/incidents/reporting/details.ts';

/** A Pod that runs well. */
export function affectedPod(name: string, given: Partial<AffectedPod> = {}): AffectedPod {
  return {
    namespace: 'shop',
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '7',
    hostNetwork: false,
    running: true,
    problem: undefined,
    ...given,
  };
}
