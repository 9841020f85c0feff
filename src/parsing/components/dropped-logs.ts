import type { Suppressed } from '../../model/observation.ts';
import { mayBeCalico, type Tag } from './tag.ts';

/** `... dropped 104 logs ...`: felix waits for no reader of its log (Calico lib/logutils, NewStreamDestination). */
export function parseDroppedLogs(text: string, tag: Tag): Suppressed | undefined {
  const found = /^\.\.\. dropped (\d{1,10}) logs \.\.\.\s{0,2}$/.exec(text);
  if (found === null || !mayBeCalico(tag)) return undefined;
  return { kind: 'suppressed', by: 'felix', count: Number(found[1]), affects: 'felix' };
}
