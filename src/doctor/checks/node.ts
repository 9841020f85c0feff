import { slimNode } from '../../kubernetes/slim.ts';
import { type Api, itemsOf, seeApiServer } from '../api.ts';
import { type Check, ok, problem, unknown } from '../check.ts';

/** Whether there is a Node of that name. */
export async function checkNode({ request }: Pick<Api, 'request'>, node: string): Promise<Check> {
  const name = 'node';
  if (node === '') return unknown(name, 'no Node is named', 'set NODE_NAME or --node');
  const found = itemsOf(
    await request('GET', '/api/v1/nodes', { query: { fieldSelector: `metadata.name=${node}`, limit: 1 } }),
  );
  if (found.kind === 'refused') return unknown(name, `not known: ${found.why}`, seeApiServer);
  if (found.items.length > 0) return ok(name, `${node} is there`);
  const others = itemsOf(await request('GET', '/api/v1/nodes', { query: { limit: 5 } }));
  const names = others.kind === 'items' ? others.items.map((item) => slimNode(item).name) : [];
  return problem(
    name,
    `there is no Node ${node}${names.length === 0 ? '' : `; there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`}`,
    'NODE_NAME must be the name that kubectl get nodes shows; in a Pod: valueFrom fieldRef spec.nodeName',
  );
}
