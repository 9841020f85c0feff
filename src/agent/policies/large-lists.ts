import type { OnListed } from '../../kubernetes/policy-kinds.ts';
import type { RateLimitedLog } from '../../telemetry/rate-limited-log.ts';

/** Logs that a list of policies, or of what belongs to them, is too large to be read, and when it is read again. */
export function createListReport({ report, resolve }: Pick<RateLimitedLog, 'report' | 'resolve'>): OnListed {
  return ({ plural, namespace, isTooLarge }) => {
    const what = `${plural}${namespace === undefined ? '' : ` of Namespace ${namespace}`}`;
    if (!isTooLarge) {
      resolve(`large ${what}`, `The list of ${what} is small enough to be read again`);
      return;
    }
    const text = `The list of ${what} is too large (more than 16 MiB, or 200,000 values in specs) and is not read: of Pods that it may be about, Events do not say which policy denied a packet. Delete what is not needed of it, or set POLICIES=off`;
    report('warn', `large ${what}`, { resource: plural, namespace }, text);
  };
}
