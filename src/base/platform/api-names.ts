/*
 * Checks the spelling of names in Kubernetes (apimachinery/pkg/util/validation). The API server checks an object's own names, but not names
 * that only mention another object: an owner reference, an address in a Node's status, the target of an endpoint, an annotation. In
 * a saved list, nobody has checked any name. A name with another spelling is invalid, and must not reach an Event, a table or a command.
 */

/** Name of a Namespace, a Service or a port: a label of RFC 1123. */
export function isLabel(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(text);
}

/** Name of a Pod, a Node, a workload and most other objects: a subdomain of RFC 1123. */
export function isSubdomain(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/.test(text);
}

/** Name of a port of a Pod (IANA_SVC_NAME, RFC 6335): 15 characters, at least one of them a letter. */
export function isPortName(text: string): boolean {
  return text.length <= 15 && isLabel(text) && /[a-z]/.test(text) && !text.includes('--');
}

/** A kind, also of custom resources: a label of RFC 1035, but with capitals. */
export function isKind(text: string): boolean {
  return text.length <= 63 && /^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/.test(text);
}

/** A uid or a resourceVersion. Their form is not defined, but they are never longer and have no other characters. */
export function isOpaqueId(text: string): boolean {
  return /^[\w-]{1,63}$/.test(text);
}

/** Name of a label: letters, digits and `-_.`, optionally after a DNS name and `/`. */
export function isLabelName(text: string): boolean {
  const [name = '', prefix, more] = text.split('/').toReversed();
  return more === undefined && name !== '' && isLabelValue(name) && (prefix === undefined || isSubdomain(prefix));
}

export function isLabelValue(text: string): boolean {
  return text.length <= 63 && /^(?:[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)?$/.test(text);
}

/** Name of a machine, or its address, as log lines and Nodes mention it. Underscores occur. */
export function isHostName(text: string): boolean {
  return /^[A-Za-z0-9_][\w.:-]{0,252}$/.test(text);
}

/** Name of a network interface that is safe to paste into a shell. The kernel allows everything except white space, `/` and `:`. */
export function isPlainInterface(text: string): boolean {
  return /^[\w.@-]{1,32}$/.test(text);
}
