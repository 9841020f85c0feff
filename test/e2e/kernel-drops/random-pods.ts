/** The Pods of the guest that have random policies. */
import type { GuestPod } from './guest-node.ts';

/** On both sides of the borders of the blocks in `arbitraries.ts`. */
const places = [1, 2, 3, 5, 9, 17];
export const gateway = '10.0.0.254';
export const ports = [80, 81, 443];
export const roundsFile = '/rounds.json';

export interface RandomPod extends GuestPod {
  uid: string;
  address6: string;
}

export const randomPods: readonly RandomPod[] = places.map((place, index) => ({
  netns: `p${index}`,
  device: `vp${index}`,
  address: `10.0.0.${place}`,
  address6: `fd00::${place.toString(16)}`,
  uid: `00000000-0000-4000-8000-00000000000${index}`,
}));
