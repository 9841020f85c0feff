import type { Suppressed } from '../../model/observation.ts';
import { mayBeCalico, type Tag } from './tag.ts';

/**
 * `... dropped 104 logs ...`: felix does not wait for whoever takes its log, and says so before the next record that gets through
 * (Calico lib/logutils, NewStreamDestination). Undefined for what is none, and for what another program says.
 */
export function parseDroppedLogs(text: string, tag: Tag): Suppressed | undefined {
  const found = /^\.\.\. dropped (\d{1,10}) logs \.\.\.\s{0,2}$/.exec(text);
  if (found === null || !mayBeCalico(tag)) return undefined;
  return { kind: 'suppressed', by: 'felix', count: Number(found[1]), affects: 'felix' };
}
