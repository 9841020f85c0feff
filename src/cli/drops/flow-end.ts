/** The ends of a dropped flow, as an Event of an agent or its answer to `drops top` names them. */
import { cell, endWithKind } from '../terminal.ts';

export interface FlowEnd {
  /** The kind of the named object, which is a workload rather than its Pod; undefined for an address. */
  readonly kind: string | undefined;
  readonly namespace: string | undefined;
  /** Of the object, or an address. */
  readonly name: string;
  /** The Pod in `namespace`, if all packets are of one. */
  readonly pod: string | undefined;
}

/** `shop/web (Deployment)`, `node-a (Node)`, `shop/web-0` for a Pod, an address. */
export function flowEndText({ kind, namespace, name, pod }: FlowEnd): string {
  const inNamespace = (own: string): string => (namespace ? `${namespace}/${own}` : own);
  return cell(pod === undefined ? endWithKind(kind, inNamespace(name)) : inNamespace(pod));
}

/** Whether a Pod may be one of those that `several` names. A Pod's name begins with that of its workload. */
export function mayBeAmong(several: FlowEnd, pod: FlowEnd): boolean {
  if (pod.pod === undefined || several.namespace !== pod.namespace) return false;
  return several.pod === undefined ? pod.pod.startsWith(`${several.name}-`) : several.pod === pod.pod;
}
