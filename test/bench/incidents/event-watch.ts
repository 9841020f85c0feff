import { EventEmitter, once } from 'node:events';
import { Agent, get } from 'node:https';
import { createInterface } from 'node:readline';
import type { CoreEvent } from '../../../src/events/event.ts';
import type { Connection } from '../../e2e/control-plane/connection.ts';

export interface EventWatch {
  /** When an Event on `Kind/name` was first seen (performance.now()), as soon as it is. */
  readonly until: (object: string) => Promise<number>;
  readonly stop: () => void;
}

/** Events as a watch of the API server shows them. */
export async function watchEvents({ server, certificateAuthority, adminToken }: Connection): Promise<EventWatch> {
  const seen = new Map<string, number>();
  const changes = new EventEmitter().setMaxListeners(0);
  const agent = new Agent({ ca: certificateAuthority });
  const request = get(`${server}/api/v1/events?watch=true`, {
    agent,
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const opened = once(request, 'response');
  request.on('error', () => {});
  request.on('response', (response) => {
    response.on('error', () => {});
    createInterface(response)
      .on('error', () => {})
      .on('line', (line) => {
        const { involvedObject, source } = (JSON.parse(line) as { object: CoreEvent }).object;
        if (source.component !== 'kube-netfilter-tailer') return;
        const object = `${involvedObject.kind}/${involvedObject.name}`;
        if (!seen.has(object)) seen.set(object, performance.now());
        changes.emit('change');
      });
  });
  await opened;
  return {
    async until(object) {
      for (;;) {
        const at = seen.get(object);
        if (at !== undefined) return at;
        await once(changes, 'change', { signal: AbortSignal.timeout(30_000) });
      }
    },
    stop: () => void request.destroy(),
  };
}
