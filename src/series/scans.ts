import { LRUCache } from 'lru-cache';
import { type Endpoint, nodeRef, objectKey, type ObjectRef } from '../model/endpoint.ts';
import type { EventDetails, Finding, FlowDetails, ScanDetails } from '../model/finding.ts';
import type { Series } from '../model/series.ts';

/** A peer that more objects of a node than this refuse, within their hours, scans: as many as an object has Events of its own. */
const manyObjects = 8;
/** Pods that are known as peers. */
const podsKnown = 4096;

/** Who scans. It follows from the series that are held, so it is the same after a restart. */
export function createScans(restored: Iterable<Series>) {
  const refusals = createRefusals();
  let hasBegun = false;
  let version = 0;
  /** The identity as a peer, by object. */
  const identities = new LRUCache<string, string>({ max: podsKnown });
  for (const series of restored) add(series);

  return {
    /** Another number whenever a series has come or gone, or has one more peer: `roleIn` may have another answer. */
    get version(): number {
      return version;
    },
    add,
    remove(series: Series): void {
      version++;
      for (const identity of refusedBy(series)) refusals.remove(identity, objectKey(series.finding.regarding));
    },
    /** One more peer is counted in the series that an object has for scans. */
    joined(series: Series, peer: Endpoint): void {
      version++;
      refusals.add(peer.identity, objectKey(series.finding.regarding));
      if (refusals.objectsOf(peer.identity)?.size === manyObjects + 1) hasBegun = true;
    },
    /** Whether one more peer scans since the last call. */
    takeBegun(): boolean {
      const before = hasBegun;
      hasBegun = false;
      return before;
    },
    roleIn,
  };

  /** Whose Event counts a packet that is part of a scan; undefined where it is none. */
  function roleIn({ details: given, regarding }: Finding): 'target' | 'scanner' | undefined {
    const details = refusals.hasSuspects ? exampleOf(given) : undefined;
    if (details === undefined) return undefined;
    if (isTry(details)) {
      if (!isScan(details.peer.identity, regarding)) return undefined;
      know(details.peer);
      return 'target';
    }
    if (details.direction !== 'sending' || details.reply) return undefined;
    const identity = identities.get(objectKey(regarding));
    return identity !== undefined && isScan(identity) ? 'scanner' : undefined;
  }

  function isScan(identity: string, regarding?: ObjectRef): boolean {
    const objects = refusals.objectsOf(identity);
    if (objects === undefined || objects.size < manyObjects) return false;
    return objects.size > manyObjects || (regarding !== undefined && !objects.has(objectKey(regarding)));
  }

  function add(series: Series): void {
    version++;
    const { details, regarding } = series.finding;
    for (const identity of refusedBy(series)) refusals.add(identity, objectKey(regarding));
    const example = exampleOf(details);
    if (example !== undefined && isTry(example)) know(example.peer);
  }

  function know({ object, identity }: Endpoint): void {
    if (object?.kind === 'Pod') identities.set(objectKey(object), identity);
  }
}

/** Which objects refuse which peers. */
function createRefusals() {
  /** By the identity of a peer, how many series each object has with it. */
  const byPeer = new Map<string, Map<string, number>>();
  let suspects = 0;

  return {
    /** Whether one more object would make a peer a scanner, or there is one: while there is none, no packet is looked at. */
    get hasSuspects(): boolean {
      return suspects > 0;
    },
    objectsOf: (peer: string): ReadonlyMap<string, number> | undefined => byPeer.get(peer),
    add(peer: string, object: string): void {
      let objects = byPeer.get(peer);
      if (objects === undefined) byPeer.set(peer, (objects = new Map()));
      const before = objects.size;
      objects.set(object, (objects.get(object) ?? 0) + 1);
      if (before < manyObjects && objects.size === manyObjects) suspects++;
    },
    remove(peer: string, object: string): void {
      const objects = byPeer.get(peer);
      const left = (objects?.get(object) ?? 0) - 1;
      if (left > 0) objects?.set(object, left);
      else if (objects?.delete(object) === true && objects.size === manyObjects - 1) suspects--;
      if (objects?.size === 0) byPeer.delete(peer);
    },
  };
}

/** What a packet of a scan is counted as, once more, on the node: the scanner is no object that could have an Event. */
export function strangerFinding(finding: Finding): Finding | undefined {
  const { details, node } = finding;
  if (details.kind !== 'flow' || details.peer.kind === 'pod' || node === '') return undefined;
  const identity = `scan|${details.peer.identity}|${node}`;
  return { ...joint(finding, 'stranger', details), identity, regarding: nodeRef(node), related: finding.regarding };
}

export function scanIdentity(
  { regarding, node }: Pick<Finding, 'regarding' | 'node'>,
  of: 'target' | 'scanner',
): string {
  return `scan|${of}|${objectKey(regarding)}|${node}`;
}

/** What packets of a scan are counted as on the object that the finding of the first one regards. */
export function scanFinding(finding: Finding, of: 'target' | 'scanner'): Finding {
  const { details } = finding;
  if (details.kind !== 'flow') return finding;
  return { ...joint(finding, of, details), identity: scanIdentity(finding, of) };
}

function joint(finding: Finding, of: ScanDetails['of'], example: FlowDetails): Finding {
  return {
    ...finding,
    reason: of === 'target' ? finding.reason : 'NetworkScan',
    related: of === 'target' ? example.peer.object : undefined,
    details: { kind: 'scan', of, example },
  };
}

/** Of what is about one peer of one object. */
function exampleOf(details: EventDetails): FlowDetails | undefined {
  if (details.kind === 'flow') return details;
  return details.kind === 'ports' ? details.example : undefined;
}

/** A packet by which a Pod or an unknown address asked for something: no answer, and none of the cluster's own services. */
function isTry({ direction, reply, error, martian, peer }: FlowDetails): boolean {
  const mayScan = peer.kind === 'pod' || peer.kind === 'external' || peer.kind === 'unknown';
  return direction === 'receiving' && !reply && error === undefined && !martian && mayScan && peer.role === undefined;
}

/** Identities of the peers that the object of a series refuses in it. */
function refusedBy({ finding: { details }, peers }: Series): readonly string[] {
  const example = exampleOf(details);
  if (example !== undefined) return isTry(example) ? [example.peer.identity] : [];
  return details.kind === 'scan' && details.of === 'target' ? peers.seen : [];
}
