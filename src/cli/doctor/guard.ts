import { randomUUID } from 'node:crypto';
import { component, denierOf, timestamp } from '../../publish/events/events.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { type ApiRequests, refusalText } from './api.ts';
import type { PodName } from './machine.ts';

/** Whether an admission policy holds this token to its node. */
export type Guard = 'holds' | 'open' | { readonly why: string };

/** Valid, and never a Node's name: this top-level domain is reserved (RFC 2606). */
const noNode = 'other-node.invalid';

/** Tries an Event of another node by a dry run, which stores nothing: an agent may not read policies. Never rejects. */
export async function tryGuard({ request }: ApiRequests, pod: PodName, now: Millis): Promise<Guard> {
  const { namespace, name } = pod;
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `doctor.${randomUUID().replaceAll('-', '').slice(0, 20)}`, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name },
    reason: 'TestEvent',
    message: 'A dry run of doctor',
    type: 'Normal',
    count: 1,
    firstTimestamp: timestamp(now),
    lastTimestamp: timestamp(now),
    source: { component, host: noNode },
    reportingComponent: component,
    reportingInstance: `${component}-${noNode}`,
  };
  const answer = await request('POST', `/api/v1/namespaces/${namespace}/events`, { body, query: { dryRun: 'All' } });
  if (answer.kind === 'answered') return 'open';
  // The words of deploy/components/admission-policy: its name differs in each release of the chart.
  const isOurs = denierOf(answer) !== undefined && answer.message.includes('an agent writes');
  return isOurs ? 'holds' : { why: refusalText(answer) };
}
