import type { Connection } from '../../kubernetes/connection.ts';
import { may } from '../../kubernetes/pod-finders/may.ts';
import { RefusedError } from '../../kubernetes/refusal.ts';
import { policiesFile } from '../../kubernetes/rights-file.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Log } from '../../telemetry/logger.ts';

/** After that a right that was missing is asked for again. */
const age: Millis = 600_000;

const missing = `Events do not say which policy denied a packet: the right to list networkpolicies is missing. Apply ${policiesFile}, or set POLICIES=off`;

export interface PolicyRightsOptions {
  readonly connection: Pick<Connection, 'request'>;
  readonly log: Pick<Log, 'info'>;
  readonly now: () => Millis;
}

/** Whether NetworkPolicies may be listed: asked at the first need, and logged when that changes. */
export function createPolicyRights({ connection, log, now }: PolicyRightsOptions) {
  let known: { granted: boolean; at: Millis } | undefined;
  let asking: Promise<boolean> | undefined;

  return {
    granted: async (): Promise<boolean> => {
      if (known?.granted === true) return true;
      if (known !== undefined && now() - known.at < age) return false;
      return await (asking ??= ask().finally(() => (asking = undefined)));
    },
    /** A reading failed. */
    failed: (error: unknown): void => {
      if (error instanceof RefusedError && error.refusal.status === 403) learn(false);
    },
  };

  async function ask(): Promise<boolean> {
    const granted = await may(connection, 'list', 'networkpolicies', 'networking.k8s.io');
    if (granted !== undefined) learn(granted);
    return granted ?? false;
  }

  function learn(granted: boolean): void {
    if (granted && known?.granted === false)
      log.info({}, 'Policies can be listed now: Events say which one denied a packet');
    if (!granted && known?.granted !== false) log.info({}, missing);
    known = { granted, at: now() };
  }
}
