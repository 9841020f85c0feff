/** Removes names from a drop that the logger gives but readers of the Event may not know. */
import type { Endpoint } from '../../base/model/endpoint.ts';
import type { FlowDetails } from '../../base/model/finding.ts';
import type { PolicyName } from '../../base/model/packet.ts';
import { mayName, type NamedObject, type Reader } from '../../base/model/readers.ts';

/** Every finding goes through this, so nothing that is counted, saved or written has other names. */
export function forReaders(details: FlowDetails, reader: Reader): FlowDetails {
  const { policy, peer, prefix } = details;
  const hidesPolicy = policy !== undefined && !mayName(policy, reader);
  const shownPeer = peerFor(peer, reader);
  if (!hidesPolicy && shownPeer === peer) return details;
  return {
    ...details,
    peer: shownPeer,
    ...(hidesPolicy && { policy: undefined, policyIsHidden: true, prefix: withoutPolicy(prefix, policy) }),
  };
}

/** Cuts the prefix where it begins to name the policy. */
function withoutPolicy(prefix: string, { namespace, name }: PolicyName): string {
  if (prefix === '') return prefix;
  const places = [namespace, name.replace(/…$/, '')].map((part) => (part === undefined ? -1 : prefix.indexOf(part)));
  return `${prefix.slice(0, Math.min(...places.map((place) => Math.max(0, place)))).trimEnd()} …`.trimStart();
}

/** Felix's flows name sets of networks in place of addresses: `NetworkSet shop/partners`. */
function peerFor(peer: Endpoint, reader: Reader): Endpoint {
  const set = setIn(peer.address);
  return set === undefined || mayName(set, reader) ? peer : { ...peer, address: `a ${set.kind}` };
}

function setIn(address: string): NamedObject | undefined {
  const [, kind, namespace] = /^(\w*NetworkSet) (?:([^/]+)\/)?/.exec(address) ?? [];
  return kind === undefined ? undefined : { kind, namespace };
}
