import { createHash } from 'node:crypto';

/**
 * Names that CNI plugins give the host's end of a Pod's veth pair: a prefix and the first 11 hex digits of
 * SHA-1("namespace.pod"). Calico: `cali`; the AWS VPC CNI: `eni`. The kernel allows 15 characters.
 */
export function interfaceNames(namespace: string, pod: string): string[] {
  const hash = createHash('sha1').update(`${namespace}.${pod}`).digest('hex').slice(0, 11);
  return [`cali${hash}`, `eni${hash}`];
}

/** Whether an interface name has the shape of such a name, so that it stands for some Pod of this node. */
export function isPodInterface(name: string): boolean {
  // No regular expression: asked several times for every packet.
  return (name.length === 15 && name.startsWith('cali')) || (name.length === 14 && name.startsWith('eni'));
}
