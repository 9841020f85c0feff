import { createFelixReader } from '../../kubernetes/incident-facts.ts';
import { at } from '../../platform/json.ts';
import type { NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Api } from './api.ts';

export interface FelixLook {
  felix: NonNullable<NodeFacts['felix']>;
  /** As it is set for this node; undefined where it is not. */
  logPrefix: string | undefined;
}

/** Reads FelixConfiguration as the agent does, and with the same answers its `logPrefix`. Never rejects. */
export async function lookAtFelix(
  { request }: Pick<Api, 'request'>,
  node: string,
  now: () => Millis,
): Promise<FelixLook> {
  const prefixes = new Map<'default' | 'node', string>();
  const reader = createFelixReader({
    node,
    now,
    connection: {
      async request(verb, path, options) {
        const answer = await request(verb, path, options);
        const prefix = answer.kind === 'answered' ? at(answer.body, 'spec', 'logPrefix') : undefined;
        if (typeof prefix === 'string') prefixes.set(path.endsWith('/default') ? 'default' : 'node', prefix);
        return answer;
      },
    },
  });
  const felix = await reader.read();
  return { felix, logPrefix: prefixes.get('node') ?? prefixes.get('default') };
}
