import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';

/** For each Node of the cluster (`npm run simulate`). An incident may begin and end on all nodes at once, and has two to four Events on each. */
const perNode: Readonly<Record<'drop' | 'incident' | 'read', Millis>> = { drop: 6, incident: 15, read: 2 };

/** Over how long a time all nodes of a cluster spread what becomes due on all of them at once: 30 s for drops on 5,000 nodes, 0.6 s on 100. */
export function spreadOf({ finding: { details } }: Pick<Series, 'finding'>, nodes: number): Millis {
  return nodes * perNode[details.kind === 'incident' ? 'incident' : 'drop'];
}

/** The same for what all nodes read when an incident begins on all of them: 10 s on 5,000 nodes, with two requests each. */
export function readSpreadOf(nodes: number): Millis {
  return nodes * perNode.read;
}
