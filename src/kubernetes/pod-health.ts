import type { Millis } from '../model/log-line.ts';
import type { Pod } from '../resolving/objects.ts';
import { at, instant, type Json, list, text } from '../platform/json.ts';

/** v1 Pod → its health. A status without conditions counts as healthy. */
export function healthOf(object: Json): Pick<Pod, 'running' | 'problem' | 'restarted'> {
  const phase = at(object, 'status', 'phase');
  const running = phase !== 'Succeeded' && phase !== 'Failed';
  const containers = containersOf(object);
  return {
    running,
    problem: !running
      ? undefined
      : containers.some(isRestarting)
        ? 'restarting'
        : isUnready(object)
          ? 'unready'
          : undefined,
    restarted: running ? lastEnd(containers, 'lastState') : undefined,
  };
}

/** An init container that is done is not there any more, and all is well with it. */
function isRestarting(container: Json): boolean {
  if (at(container, 'state', 'waiting', 'reason') === 'CrashLoopBackOff') return true;
  const restarts = at(container, 'restartCount');
  if (typeof restarts !== 'number' || restarts === 0) return false;
  const exitCode = at(container, 'state', 'terminated', 'exitCode');
  return at(container, 'state', 'waiting') !== undefined || (typeof exitCode === 'number' && exitCode !== 0);
}

function isUnready(object: Json): boolean {
  const phase = at(object, 'status', 'phase');
  const isStarted = phase === 'Running' || (phase === 'Pending' && text(at(object, 'status', 'podIP')) !== undefined);
  // One that is being deleted is meant to be.
  if (!isStarted || at(object, 'metadata', 'deletionTimestamp') !== undefined) return false;
  const condition = list(at(object, 'status', 'conditions')).find((each) => at(each, 'type') === 'Ready');
  return condition !== undefined && at(condition, 'status') !== 'True';
}

export function containersOf(pod: Json): Json[] {
  return [...list(at(pod, 'status', 'containerStatuses')), ...list(at(pod, 'status', 'initContainerStatuses'))];
}

/** `lastState`: of the runs before the present ones. */
export function lastEnd(containers: Json[], run: 'state' | 'lastState'): Millis | undefined {
  const ends = containers.flatMap((each) => instant(at(each, run, 'terminated', 'finishedAt')) ?? []);
  return ends.length === 0 ? undefined : Math.max(...ends);
}
