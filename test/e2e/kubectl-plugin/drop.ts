import { randomBytes } from 'node:crypto';
import { annotationPrefix, annotationSchema, type CoreEvent, timestamp } from '../../../src/publish/events/event.ts';

export interface DropOptions {
  readonly namespace: string;
  readonly count?: number;
  readonly secondsAgo?: number;
  /** The object's name in the Event, which no server checks. */
  readonly name?: string;
  readonly node?: string;
  /** A Pod of the same namespace. */
  readonly peer?: string;
  /** Annotations, without their prefix. */
  readonly says?: Readonly<Record<string, string>>;
}

/** An Event as the agent writes it. */
export function drop(pod: string, message: string, options: DropOptions): CoreEvent {
  const { namespace, count = 1, secondsAgo = 0, name = pod, node = 'node-a', peer, says = {} } = options;
  const annotations = Object.entries({ schema: annotationSchema, ...says });
  const time = timestamp(Date.now() - secondsAgo * 1000);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${pod}.${randomBytes(10).toString('hex')}`,
      namespace,
      annotations: Object.fromEntries(annotations.map(([key, value]) => [annotationPrefix + key, value])),
    },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name },
    ...(peer === undefined ? {} : { related: { apiVersion: 'v1', kind: 'Pod', namespace, name: peer } }),
    reason: 'PacketDrop',
    message,
    type: 'Warning',
    count,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: 'kube-netfilter-tailer', host: node },
    reportingComponent: 'kube-netfilter-tailer',
    reportingInstance: `kube-netfilter-tailer-${node}`,
  };
}
