import type { Millis } from '../model/log-line.ts';
import type { Suppressed } from '../model/observation.ts';
import type { Flow } from './flow.ts';
import { isGap, type OpenFlow } from './open-flows.ts';

/** What was lost of an interval's log: any records, or only warnings of the kernel. */
type Loss = Exclude<Suppressed['affects'], 'nothing' | 'felix'>;

/** Intervals of which log was lost. */
export function createGaps(restored: readonly OpenFlow[]) {
  const gaps = new Map<Millis, Loss>();
  for (const flow of restored) if (isGap(flow)) gaps.set(flow.start, 'everything');

  return {
    add(start: Millis, loss: Loss): void {
      if (gaps.get(start) !== 'everything') gaps.set(start, loss);
    },
    /** Whether packets of a flow may be among what was lost. */
    bearOn(flow: OpenFlow): boolean {
      const loss = gaps.get(flow.start);
      return loss === 'everything' || (loss !== undefined && isWarning(flow));
    },
    forget(isOver: (start: Millis) => boolean): void {
      for (const start of gaps.keys()) if (isOver(start)) gaps.delete(start);
    },
  };
}

/** Lost records, as a flow of their own. `by`: who lost them. */
export function gapOf(by: string, node: string): Flow {
  return {
    key: JSON.stringify(['gap', by, node]),
    subject: '',
    namespace: '',
    fields: {
      'event.name': 'network.flow.gap',
      'event.action': 'lost',
      'event.reason': by,
      'k8s.node.name': node || undefined,
    },
  };
}

/** Martians are printed as warnings of the kernel, whose rate is limited apart. */
function isWarning({ fields }: OpenFlow): boolean {
  return fields['log.prefix']?.startsWith('martian ') === true;
}
