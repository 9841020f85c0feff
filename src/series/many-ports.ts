import { objectKey } from '../model/endpoint.ts';
import type { Finding, FlowDetails } from '../model/finding.ts';
import type { Series } from '../model/series.ts';
import { noteOthers } from './others.ts';

/** Names the Event of an object for several ports of one peer; undefined of a finding that has no port to be one of several. */
export function portsIdentity({ details, regarding, node }: Finding): string | undefined {
  if (details.kind !== 'flow' || !hasPort(details)) return undefined;
  return `ports|${objectKey(regarding)}|${details.peer.identity}|${node}`;
}

/** What packets to several ports are counted as, of the peer that the finding of the first one has. */
export function portsFinding(finding: Finding, identity: string): Finding {
  const { details } = finding;
  if (details.kind !== 'flow') return finding;
  return { ...finding, identity, details: { kind: 'ports', example: details } };
}

/** A finding as it is of the first of its packets. */
export function singleFinding(finding: Finding): Finding {
  const { details } = finding;
  return details.kind === 'ports' ? { ...finding, details: details.example } : finding;
}

/** Whether one Event may count the packets of a finding and of a series: what it says holds for both. */
export function isAlike({ finding }: Series, { details }: Finding): boolean {
  const known = finding.details.kind === 'ports' ? finding.details.example : finding.details;
  if (known.kind !== 'flow' || details.kind !== 'flow' || !hasPort(known)) return false;
  return (
    known.peer.identity === details.peer.identity &&
    known.direction === details.direction &&
    known.reply === details.reply &&
    known.verdict === details.verdict &&
    known.enforcer === details.enforcer
  );
}

/** The packets of a series are counted in another one from now. */
export function moveInto(joint: Series, series: Series): void {
  joint.count += series.count;
  joint.first = Math.min(joint.first, series.first);
  joint.last = Math.max(joint.last, series.last);
  joint.suppressed ||= series.suppressed;
  noteOthers(joint, series.finding, series);
}

/** An ICMP error and a martian packet are problems of their own, whatever port they are about. */
function hasPort({ port, error, martian }: FlowDetails): boolean {
  return port !== undefined && error === undefined && !martian;
}
