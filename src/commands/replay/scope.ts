/** `--since`, `--namespace` and `--pod`: which part of the logs is counted, and which part of that is shown. */
import type { CoreEvent } from '../../events/event.ts';
import type { Endpoint, Ends } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { ReplayOptions } from '../options/replay-options.ts';

export interface Scope {
  showsEvent: (event: Pick<CoreEvent, 'involvedObject'>) => boolean;
  /** Either end is one of the objects that are shown. */
  showsEnds: (ends: Ends) => boolean;
  /** In words, for what is not there: `Namespace shop`; undefined where all is shown. */
  readonly text: string | undefined;
}

export function createScope({ namespace, pod }: Pick<ReplayOptions, 'namespace' | 'pod'>): Scope {
  const isShown = (kind: string, inNamespace: string | undefined, name: string): boolean =>
    (namespace === undefined || inNamespace === namespace) && (pod === undefined || (kind === 'Pod' && name === pod));
  const showsEnd = ({ object }: Endpoint): boolean =>
    object === undefined
      ? namespace === undefined && pod === undefined
      : isShown(object.kind, object.namespace, object.name);
  const of = [
    pod === undefined ? undefined : `Pod ${pod}`,
    namespace === undefined ? undefined : `Namespace ${namespace}`,
  ];
  return {
    showsEvent: ({ involvedObject: { kind, namespace: inNamespace, name } }) => isShown(kind, inNamespace, name),
    showsEnds: ({ source, destination }) => showsEnd(source) || showsEnd(destination),
    text: of.filter((part) => part !== undefined).join(' in ') || undefined,
  };
}

/** Lines that were logged before then are left out; `onEarlier` hears of each. */
export function fromThen(
  { take, repeats }: Pick<Pipeline, 'take' | 'repeats'>,
  since: Millis | undefined,
  onEarlier: () => void,
): Pick<Pipeline, 'take' | 'repeats'> {
  if (since === undefined) return { take, repeats };
  const isEarlier = (time: Millis): boolean => {
    if (time >= since) return false;
    onEarlier();
    return true;
  };
  return {
    take(line, origin) {
      if (!isEarlier(line.time)) take(line, origin);
    },
    repeats: repeats && {
      ...repeats,
      again: (repeat, time) => isEarlier(time) || repeats.again(repeat, time),
    },
  };
}
