/** How much the Pods of guest-floods.ts send. There are more connections and packets than a buffer has room for. */
export const flooded = { packets: 7000, connections: 2500, honest: 100 };

export const floodPods = [
  { netns: 'f0', device: 'f0', address: '10.62.3.10', uid: 'f0000000-6d2c-4c35-9d55-5e1c2b2f7a01' },
  { netns: 'f1', device: 'f1', address: '10.62.3.11', uid: 'f1000000-6d2c-4c35-9d55-5e1c2b2f7a01' },
  { netns: 'f2', device: 'f2', address: '10.62.3.12', uid: 'f2000000-6d2c-4c35-9d55-5e1c2b2f7a01' },
] as const;

export interface Flood {
  /** How many lines of the flood were overwritten. */
  overwritten: number;
  /** How many lines of the other Pod were read from the other buffer. */
  read: number;
}
