import type { Millis } from '../model/log-line.ts';
import { createBackOff } from '../platform/back-off.ts';
import type { Refusal } from './event-store.ts';
import { backOffLimits } from './throttling.ts';

export type Outage = ReturnType<typeof createOutage>;

/** Whether the API server refuses every Event, and what follows from that. */
export function createOutage(random: () => number) {
  const backOff = createBackOff(backOffLimits, random);
  let isOn = false;
  let isCatchingUp = false;

  return {
    /** It refused the last Event, as it would have refused any. */
    get isOn(): boolean {
      return isOn;
    },
    /** It has refused, and not all has been written since that was due. */
    get isCatchingUp(): boolean {
      return isCatchingUp;
    },
    /** Returns for how long nothing more should be tried. */
    refused({ retryAfter }: Refusal): Millis {
      isOn = true;
      isCatchingUp = true;
      return backOff.next(retryAfter);
    },
    answered(): void {
      isOn = false;
      backOff.reset();
    },
    /** All that is due is taken. */
    caughtUp(): void {
      isCatchingUp = isOn;
    },
  };
}
