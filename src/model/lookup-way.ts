/** Ways to find the Pod of an address that no list of this node has, in the order in which they are tried by default. */
export const lookupWays = ['calico-block', 'pod-cidr', 'directory', 'field-selector'] as const;
export type LookupWay = (typeof lookupWays)[number];
