/*
 * How Kubernetes spells what names an object (apimachinery/pkg/util/validation). The API server checks an object's own names, but not names
 * that only mention another object: an owner reference, an address in a Node's status, the target of an endpoint, an annotation. A saved
 * list was not checked at all. What is not spelled so names nothing, and must not reach an Event, a table or a command.
 */

/** Name of a Namespace, a Service or a port: a label of RFC 1123. */
export function isLabel(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(text);
}

/** Name of a Pod, a Node, a workload and most other objects: a subdomain of RFC 1123. */
export function isSubdomain(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/.test(text);
}

/** Name of a port of a Pod (IANA_SVC_NAME, RFC 6335): 15 characters, at least one a letter. */
export function isPortName(text: string): boolean {
  return text.length <= 15 && isLabel(text) && /[a-z]/.test(text) && !text.includes('--');
}

/** A kind, of custom resources too: a label of RFC 1035, but for its capitals. */
export function isKind(text: string): boolean {
  return text.length <= 63 && /^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/.test(text);
}

/** A uid or a resourceVersion: opaque, but never longer or of other characters than these. */
export function isOpaqueId(text: string): boolean {
  return /^[\w-]{1,63}$/.test(text);
}

/** Name of a label: a part of letters, digits and `-_.`, with a DNS name and `/` before it or without. */
export function isLabelName(text: string): boolean {
  const [name = '', prefix, more] = text.split('/').toReversed();
  return more === undefined && name !== '' && isLabelValue(name) && (prefix === undefined || isSubdomain(prefix));
}

/** Value of a label; it may be empty. */
export function isLabelValue(text: string): boolean {
  return text.length <= 63 && /^(?:[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)?$/.test(text);
}

/** Name that a machine gives itself, or its address, as log lines and Nodes mention it; underscores occur. */
export function isHostName(text: string): boolean {
  return /^[A-Za-z0-9_][\w.:-]{0,252}$/.test(text);
}

/** Name of a network interface that is safe to paste. The kernel allows all but white space, `/` and `:`. */
export function isPlainInterface(text: string): boolean {
  return /^[\w.@-]{1,32}$/.test(text);
}
