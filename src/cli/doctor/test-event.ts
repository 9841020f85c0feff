/** `--send-test-event`: writes one Event as the agent does, to see it arrive. */
import { randomUUID } from 'node:crypto';
import { bareFlow } from '../../explain/drops/drops.ts';
import { createEventStore, rightsFile } from '../../agent/kubernetes/kubernetes.ts';
import { type ObjectRef, podRef } from '../../base/model/endpoint.ts';
import type { Finding } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Series } from '../../base/model/series.ts';
import { createEventWriter, denierOf, eventOf, namespaceOfEvents, type Refusal } from '../../publish/events/events.ts';
import { externalEndpoint, nodeRef } from '../../explain/resolving/resolving.ts';
import { createSeriesTable } from '../../count/series/series.ts';
import { type Api, findNode, findPod, refusalText } from './api.ts';
import type { PodName } from './machine.ts';

export interface TestEventOptions {
  api: Api;
  node: string;
  /** The Pod that the user named. If it does not exist, no other object is used. */
  pod: PodName | undefined;
  ownPod: PodName | undefined;
  now: () => Millis;
}

export type TestEventResult =
  | { kind: 'written'; event: { namespace: string; name: string }; on: string; look: string }
  | Failed;

interface Failed {
  kind: 'failed';
  reason: string;
  advice: string;
}

/** Writes a new Event each time, because exporters announce only new ones. Never rejects. */
export async function sendTestEvent(options: TestEventOptions): Promise<TestEventResult> {
  const { api, node, now } = options;
  const object = await findObject(options);
  if ('advice' in object) return object;
  const table = createSeriesTable();
  table.count(findingOf(object, node, now()), now());
  const [series] = table.due(Infinity) as [Series];
  const write = createEventWriter({
    store: createEventStore(api),
    messageOf: () => messageFor(node),
    stateId: randomUUID(),
    now,
  });
  const outcome = await write(series);
  if (outcome.kind === 'foreign')
    return failed(`another program has an Event of that name: ${outcome.component}`, 'try again');
  if (outcome.kind === 'refused')
    return failed(`it was not taken: ${refusalText(outcome.refusal)}`, adviceOn(outcome.refusal));
  const { name, namespace } = eventOf({ ...series, published: outcome.published }, '', now()).metadata;
  const at = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
  return {
    kind: 'written',
    event: { namespace, name },
    on: `${object.kind} ${at}`,
    look: `kubectl get events -n ${namespaceOfEvents(object)} --field-selector involvedObject.name=${object.name},reason=TestEvent`,
  };
}

async function findObject({ api, node, pod, ownPod }: TestEventOptions): Promise<ObjectRef | Failed> {
  const wanted = pod ?? ownPod;
  const looked = wanted && (await findPod(api, wanted));
  if (looked?.kind === 'refused') return failed(looked.why, api.unusable ?? seeDoctor);
  if (looked?.found !== undefined) return podRef(looked.found);
  if (pod !== undefined)
    return failed(`there is no Pod ${pod.namespace}/${pod.name}`, `see kubectl get pods -n ${pod.namespace}`);
  if (node === '')
    return failed('no Node is named, and no Pod', 'set NODE_NAME or --node, or name a Pod with --pod NAMESPACE/NAME');
  const answer = await findNode(api, node);
  if (answer.kind === 'refused') return failed(answer.why, api.unusable ?? seeDoctor);
  if (answer.found === undefined)
    return failed(`there is no Node ${node}`, 'NODE_NAME must be the name that kubectl get nodes shows');
  return nodeRef(answer.found);
}

const seeDoctor = 'run doctor for what is wrong';

function failed(reason: string, advice: string): Failed {
  return { kind: 'failed', reason, advice };
}

function adviceOn(refusal: Refusal): string {
  if (denierOf(refusal) !== undefined) return 'leave Events out of that quota, webhook or policy';
  return refusal.status === 403 ? `grant create on events: ${rightsFile}` : seeDoctor;
}

function messageFor(node: string): string {
  const from = node === '' ? '' : ` from ${node}`;
  return `This is a test${from}: nothing is wrong. Events of dropped packets come the same way.`;
}

/** The message of a test Event does not use the details. */
function findingOf(regarding: ObjectRef, node: string, now: Millis): Finding {
  const noEndpoint = externalEndpoint('0.0.0.0', undefined);
  return {
    identity: `test-event ${now} ${randomUUID()}`,
    reason: 'TestEvent',
    type: 'Normal',
    regarding,
    related: undefined,
    node,
    details: bareFlow('receiving', noEndpoint, noEndpoint),
  };
}
