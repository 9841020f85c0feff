import { type Api, seeApiServer } from '../api.ts';
import { answersOf, type Check } from '../check.ts';
import { type FoundNode, type Looked, someNodes } from '../cluster-look.ts';

/** Whether there is a Node of that name, which `look` asks for. */
export async function checkNode(
  api: Pick<Api, 'request'>,
  node: string,
  look: () => Promise<Looked<FoundNode>>,
): Promise<Check> {
  const { ok, problem, unknown } = answersOf('node');
  if (node === '') return unknown('no Node is named', 'set NODE_NAME or --node');
  // At once: one after the other, a slow API server would not answer both in time.
  const [answer, names] = await Promise.all([look(), someNodes(api)]);
  if (answer.kind === 'refused') return unknown(`not known: ${answer.why}`, seeApiServer);
  if (answer.found !== undefined) return ok(`${node} is there`);
  return problem(
    `there is no Node ${node}${names.length === 0 ? '' : `; there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`}`,
    'NODE_NAME must be the name that kubectl get nodes shows; in a Pod: valueFrom fieldRef spec.nodeName',
  );
}
