import { createFelixReader } from '../../kubernetes/felix-configuration.ts';
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
        const prefix = answer.kind === 'answered' ? logPrefixOf(answer.body) : undefined;
        if (prefix !== undefined) prefixes.set(path.endsWith('/default') ? 'default' : 'node', prefix);
        return answer;
      },
    },
  });
  const felix = await reader.read();
  return { felix, logPrefix: prefixes.get('node') ?? prefixes.get('default') };
}

function logPrefixOf(body: unknown): string | undefined {
  const prefix = (body as { spec?: { logPrefix?: unknown } } | null)?.spec?.logPrefix;
  return typeof prefix === 'string' ? prefix : undefined;
}
