import { createHash } from 'node:crypto';

/** As Calico (`cali`) and the AWS VPC CNI (`eni`) name the host's end of a Pod's veth pair. The kernel allows 15 characters. */
export function interfaceNames(namespace: string, pod: string): string[] {
  const hash = createHash('sha1').update(`${namespace}.${pod}`).digest('hex').slice(0, 11);
  return [`cali${hash}`, `eni${hash}`];
}

/** Whether an interface name has the shape of such a name, so that it stands for some Pod of this node. */
export function isPodInterface(name: string): boolean {
  // No regular expression: asked several times for every packet.
  return (name.length === 15 && name.startsWith('cali')) || (name.length === 14 && name.startsWith('eni'));
}
