import type { CoreEvent } from '../../../src/events/event.ts';
import type { Connection } from '../control-plane/connection.ts';
import type { ExporterConfig } from './exporter-config.ts';
import { type Labels, receiversOf } from './exporter-rules.ts';
import { render } from './go-template.ts';
import { type Informer, startInformer, type Stored } from './informer.ts';

/**
 * Treats Events as kubernetes-event-exporter does, one that is never late: an Event is as old as it was when the API server got it.
 * And one that keeps their order: the program may send what was written within the same moment in any order.
 * Source: pkg/kube/watcher.go of resmoio/kubernetes-event-exporter. Held against release 1.7 itself: docs/decisions.md.
 */
export interface EventExporter {
  readonly stop: () => Promise<void>;
}

export async function startEventExporter(connection: Connection, config: ExporterConfig): Promise<EventExporter> {
  const started = Date.now();
  const onAdd = async (event: Stored): Promise<void> => {
    // NaN where there is neither, which is too old, as the year 1 is that Go has for it.
    const time = Date.parse(event.lastTimestamp ?? event.eventTime ?? '');
    // Those that are there at the start are seen then.
    const seen = Math.max(started, Date.parse(event.metadata.creationTimestamp));
    if (!(seen - time <= config.maxEventAgeSeconds * 1000)) return;
    const labels = config.omitLookup ? {} : await labelsOf(connection, event.involvedObject);
    for (const name of receiversOf(config.route, event, labels)) {
      const receiver = config.receivers.find((each) => each.name === name);
      if (receiver === undefined) throw new Error(`a rule names the receiver ${name}, which does not exist`);
      const { endpoint, layout } = receiver.webhook;
      await send(endpoint, { text: render(layout.text, event) });
    }
  };
  const informer: Informer = await startInformer(connection, onAdd);
  return { stop: informer.stop };
}

/** Once: whatever becomes of it, the exporter goes on with the next. */
async function send(endpoint: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  try {
    const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(body) });
    await response.text();
  } catch {
    // It only counts them.
  }
}

async function labelsOf(
  connection: Connection,
  { kind, namespace, name }: CoreEvent['involvedObject'],
): Promise<Labels> {
  const place = namespace === undefined ? '' : `namespaces/${namespace}/`;
  const { body } = await connection.request('GET', `/api/v1/${place}${kind.toLowerCase()}s/${name}`);
  return (body as { metadata?: { labels?: Labels } }).metadata?.labels ?? {};
}
