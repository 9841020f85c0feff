import { type Endpoint, nodeRefByName, objectKey, type ObjectRef } from '../../base/model/endpoint.ts';
import type { EventDetails, Finding, FlowDetails, FlowSide, ScanDetails } from '../../base/model/finding.ts';
import type { Series, ScanSigns } from '../../base/model/series.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { createGroups } from '../../base/platform/groups.ts';
import { RecentValues } from '../../base/platform/recent-values.ts';

/** A peer scans if more objects of a node than this refuse it within their hours. */
const manyObjects = 8;
const podsKnown = 4096;

type ScanRole = 'target' | 'scanner';

export interface Scans {
  /** Changes whenever answers of `roleIn` may have changed. */
  version: () => number;
  add: (series: Series) => void;
  remove(series: Series): void;
  joined(series: Series, peer: Endpoint): void;
  /** Returns single series that may belong to the scans of peers that began to scan since the last call. */
  takeBegun(): Series[];
  /** Returns whose Event counts a packet of a scan; undefined if the packet belongs to none. */
  roleIn: (finding: Finding) => ScanRole | undefined;
  roleOfSide: (side: FlowSide) => ScanRole | undefined;
}

/** Knows which peers scan. After a restart, the series show this again. */
export function createScans(restored: Iterable<Series>): Scans {
  const refusals = createRefusals();
  /** Single series by the peer that tries to reach their object. */
  const tries = createGroups<Series>();
  /** Single series by the Pod that sends. */
  const sent = createGroups<Series>();
  const scanners = createPodsByIdentity();
  let begun: string[] = [];
  let version = 0;
  for (const series of restored) add(series);

  return {
    version: (): number => version,
    add,
    remove(series: Series): void {
      version++;
      const { details, regarding } = series.finding;
      for (const identity of refusedBy(series)) refusals.remove(identity, objectKey(regarding));
      const example = exampleOf(details);
      if (example === undefined) return;
      if (isTry(example)) tries.remove(example.peer.identity, series);
      else if (isSent(example)) sent.remove(objectKey(regarding), series);
    },
    joined(series: Series, peer: Endpoint): void {
      version++;
      refusals.add(peer.identity, objectKey(series.finding.regarding));
      if (refusals.objectsOf(peer.identity)?.size === manyObjects + 1) begun.push(peer.identity);
    },
    takeBegun(): Series[] {
      if (begun.length === 0) return [];
      const peers = begun;
      begun = [];
      const pods = peers.flatMap(scanners.podsOf);
      return [...peers.flatMap((identity) => tries.get(identity)), ...pods.flatMap((pod) => sent.get(pod))];
    },
    roleIn({ details: given, regarding }: Finding): ScanRole | undefined {
      const details = exampleOf(given);
      return details && roleOf(details, regarding, isTry(details));
    },
    roleOfSide: (side: FlowSide): ScanRole | undefined => roleOf(side, side.regarding, isPlainTry(side)),
  };

  function roleOf(flow: ScanFlow, regarding: ObjectRef, isTried: boolean): ScanRole | undefined {
    if (isTried) {
      if (!isScan(flow.peer.identity, regarding)) return undefined;
      scanners.know(flow.peer);
      return 'target';
    }
    if (!isSent(flow)) return undefined;
    const identity = scanners.identityOf(objectKey(regarding));
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
    if (example !== undefined && isTry(example)) {
      scanners.know(example.peer);
      tries.add(example.peer.identity, series);
    } else if (example !== undefined && isSent(example)) sent.add(objectKey(regarding), series);
    // The peer of this example is the scanner.
    if (details.kind === 'scan' && details.of === 'target') scanners.know(details.example.peer);
  }
}

/** Knows under which identities Pods have tried to reach others. */
function createPodsByIdentity() {
  const pods = createGroups<string>();
  const identities = new RecentValues<string>(podsKnown, (pod, identity) => pods.remove(identity, pod));

  return {
    identityOf: (pod: string): string | undefined => identities.get(pod),
    podsOf: pods.get,
    know({ object, identity }: Endpoint): void {
      if (object?.kind !== 'Pod') return;
      const pod = objectKey(object);
      if (identities.get(pod) === identity) return;
      identities.set(pod, identity);
      pods.add(identity, pod);
    },
  };
}

function createRefusals() {
  /** The number of series, by the peer's identity and then by object. */
  const byPeer = new Map<string, Map<string, number>>();

  return {
    objectsOf: (peer: string): ReadonlyMap<string, number> | undefined => byPeer.get(peer),
    add(peer: string, object: string): void {
      let objects = byPeer.get(peer);
      if (objects === undefined) byPeer.set(peer, (objects = new Map()));
      objects.set(object, (objects.get(object) ?? 0) + 1);
    },
    remove(peer: string, object: string): void {
      const objects = byPeer.get(peer);
      const left = (objects?.get(object) ?? 0) - 1;
      if (left > 0) objects?.set(object, left);
      else objects?.delete(object);
      if (objects?.size === 0) byPeer.delete(peer);
    },
  };
}

/** The Node has the Event if the scanner cannot have one. Returns undefined if the scanner is a Pod, or the node is unknown. */
export function unknownPeerFinding(finding: Finding): Finding | undefined {
  const { details, node } = finding;
  if (details.kind !== 'flow' || details.peer.kind === 'pod' || node === '') return undefined;
  const identity = `scan|${details.peer.identity}|${node}`;
  return {
    ...joint(finding, 'stranger', details),
    identity,
    regarding: nodeRefByName(node),
    related: finding.regarding,
  };
}

export function scanIdentity(
  { regarding, node }: Pick<Finding, 'regarding' | 'node'>,
  of: 'target' | 'scanner',
): string {
  return `scan|${of}|${objectKey(regarding)}|${node}`;
}

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

function exampleOf(details: EventDetails): FlowDetails | undefined {
  if (details.kind === 'flow') return details;
  return details.kind === 'ports' ? details.example : undefined;
}

/** Only tries to open a connection count, so no replies, ICMP errors, martians or services of the cluster itself (`role`). */
function isTry(details: FlowDetails): boolean {
  return details.error === undefined && !details.martian && isPlainTry(details);
}

function isPlainTry({ direction, reply, peer }: ScanFlow): boolean {
  const mayScan = peer.kind === 'pod' || peer.kind === 'external' || peer.kind === 'unknown';
  return direction === 'receiving' && !reply && mayScan && peer.role === undefined;
}

type ScanFlow = Pick<FlowDetails, 'direction' | 'reply' | 'peer'>;

function isSent({ direction, reply }: ScanFlow): boolean {
  return direction === 'sending' && !reply;
}

/** Returns the identities of the peers that the object of the series refuses. */
function refusedBy({ finding: { details }, peers }: Series): readonly string[] {
  const example = exampleOf(details);
  if (example !== undefined) return isTry(example) ? [example.peer.identity] : [];
  return details.kind === 'scan' && details.of === 'target' ? peers.seen : [];
}

/** This many ports of a Pod for each peer mean a scan. Monitoring uses only a few ports. */
const manyPorts = 16;
/** This many sources within a minute cannot be health checks. */
const manySources = 64;
const fewSources = 8;

/** One attempt to connect has at most seven packets (net.ipv4.tcp_syn_retries), so a peer with more has come back. */
const packetsOfAttempt = 7;
const minute: Millis = 60_000;
/** The longest pause between packets, in minutes. A check every minute may come late, so that one minute has none. */
const longestPause = 2;
const steadyMinutes = 7;
/** The busiest minute may have at most this many times the average. */
const steadyPeak = 3;

/** `tried`: finds the series of the Pod that a scanner tries to reach. */
export function noteScanSigns(series: Series, weight: number, time: Millis, tried: () => Series | undefined): void {
  const signs = (series.scan ??= { since: time, minutes: 0, packets: 0, most: 0, current: 0 });
  const over = Math.floor((time - signs.since) / minute);
  if (over > signs.minutes) endMinute(signs, over, series.peers.seen.length, time);
  signs.current += weight;
  signs.look = looksLikeScan(series, signs, tried) ? 'scan' : isMonitoring(series, signs) ? 'monitoring' : undefined;
}

function endMinute(signs: ScanSigns, over: number, tried: number, time: Millis): void {
  const { minutes, packets, most, current } = signs;
  const goesOn = over - minutes <= longestPause && 2 * current >= tried;
  if (goesOn) Object.assign(signs, { minutes: over, packets: packets + current, most: Math.max(most, current) });
  else Object.assign(signs, { since: time, minutes: 0, packets: 0, most: 0 });
  signs.current = 0;
}

function looksLikeScan(series: Series, { look }: ScanSigns, tried: () => Series | undefined): boolean {
  const { peers, ports, first, last } = series;
  const isTried = isOfTarget(series);
  if (ports.seen.length < manyPorts) return isTried && peers.seen.length >= manySources && last - first < minute;
  if (look === 'scan') return true;
  // Monitoring of many Pods may use many ports, but not at one Pod.
  return isTried ? ports.seen.length >= manyPorts * peers.seen.length : tried()?.scan?.look === 'scan';
}

/** Monitoring means that few sources come back to one port, minute after minute, at the same rate. */
function isMonitoring(series: Series, { minutes, packets, most }: ScanSigns): boolean {
  const { peers, ports } = series;
  if (ports.seen.length > 1 || (isOfTarget(series) && peers.seen.length > fewSources)) return false;
  if (minutes < steadyMinutes || packets <= packetsOfAttempt * peers.seen.length) return false;
  return most * minutes <= steadyPeak * packets;
}

/** The peers of a target's series are the ones that try to reach it. */
function isOfTarget({ finding: { details } }: Series): boolean {
  return details.kind === 'scan' && details.of === 'target';
}
