import { type CourseOf, restarting } from './rules.ts';
import type { TrackedFailure } from './tracked.ts';

/**
 * Why a container was started anew, as far as an incident of its programs tells: what is open before what is suspected, then
 * what failed last. Undefined where nothing does: then that it restarts is the trouble itself.
 */
export function restartReason(inContainer: readonly TrackedFailure[], courseOf: CourseOf): TrackedFailure | undefined {
  const [reason] = inContainer
    .filter(
      ({ incident, inThisLife, healthy }) =>
        inThisLife && healthy === undefined && incident.phase !== 'over' && courseOf(incident.code).neverFatal !== true,
    )
    .toSorted((a, b) => rankOf(a) - rankOf(b) || b.incident.last - a.incident.last);
  const isKnownLoop = inContainer.some(({ incident }) => incident.code === restarting && incident.phase === 'open');
  return isKnownLoop && reason?.incident.phase === 'suspected' ? undefined : reason;
}

function rankOf({ incident }: TrackedFailure): number {
  return incident.phase === 'open' ? 0 : 1;
}
