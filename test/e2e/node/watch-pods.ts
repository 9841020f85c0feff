import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { createInterface } from 'node:readline';
import type { Connection } from '../control-plane/connection.ts';
import type { Pod } from './pod-object.ts';

/** Reports the Pods of a Node: those that are there, then each change. The API server ends a watch after half an hour at the earliest. */
export async function watchPods(
  { server, certificateAuthority: ca, adminToken, request }: Connection,
  node: string,
  onChange: (type: string, pod: Pod) => void,
): Promise<() => void> {
  const path = `/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`;
  const { body } = await request('GET', path);
  const { metadata, items } = body as { metadata: { resourceVersion: string }; items: readonly Pod[] };
  for (const pod of items) onChange('ADDED', pod);

  const url = `${server}${path}&watch=true&resourceVersion=${metadata.resourceVersion}`;
  const watch = get(url, { ca, headers: { authorization: `Bearer ${adminToken}` }, agent: false });
  const [response] = (await once(watch, 'response')) as [IncomingMessage];
  const lines = createInterface(response).on('line', (line) => {
    const { type, object } = JSON.parse(line) as { type: string; object: Pod };
    onChange(type, object);
  });
  // It is cut off when we stop.
  for (const each of [watch, response, lines]) each.on('error', () => {});
  return () => watch.destroy();
}
