import type { Millis } from '../../src/base/model/log-line.ts';
import type { Connection } from '../e2e/control-plane/connection.ts';

/** How much other processes on the machine delay things, which must not count as the agent's fault. */
export interface Delays {
  readonly look: () => Promise<void>;
  /** The longest answer of the API server to a write of another tenant, within that time. */
  readonly ofServer: (from: Millis, until: Millis) => Millis;
  /** For how long the agent had no processor, within that time. */
  readonly ofAgent: (from: Millis, until: Millis) => Millis;
}

interface Sample {
  readonly at: Millis;
  readonly server: Millis;
  /** Since the start of the round. */
  readonly waited: Millis;
}

/**
 * `token`: that of an account like the agent's, because requests of administrators do not wait in the API server's
 * queues.
 */
export function createDelays({ request }: Connection, token: string, waited: () => Millis): Delays {
  const samples: Sample[] = [];
  const within = (from: Millis, until: Millis): readonly Sample[] =>
    samples.filter(({ at, server }) => at >= from && at - server <= until);
  return {
    async look() {
      const began = performance.now();
      const path = '/api/v1/namespaces/shop/configmaps/control';
      const body = { metadata: { name: 'control' }, data: { at: String(began) } };
      const answer = await request('PATCH', path, { body, token }).catch(() => undefined);
      if (answer?.status === 404) await request('POST', path.replace('/control', ''), { body, token });
      samples.push({ at: Date.now(), server: performance.now() - began, waited: waited() });
    },
    ofServer: (from, until) => Math.max(0, ...within(from, until).map(({ server }) => server)),
    ofAgent(from, until) {
      const found = within(from, until).map((sample) => sample.waited);
      return Math.max(0, (found.at(-1) ?? 0) - (found[0] ?? 0));
    },
  };
}
