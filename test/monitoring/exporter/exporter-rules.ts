import type { CoreEvent } from '../../../src/events/event.ts';
import type { Route, Rule } from './exporter-config.ts';

export type Labels = Readonly<Record<string, string>>;
/** Events of the newer API have no count. */
export type Matched = Pick<CoreEvent, 'involvedObject' | 'metadata' | 'source' | 'message' | 'reason' | 'type'> & {
  count?: number;
};

/**
 * Names of the receivers that an Event is handed to, once for each rule that hands it there.
 * Source: pkg/exporter/route.go and rule.go of resmoio/kubernetes-event-exporter. `labels`: of the involved object.
 */
export function receiversOf({ drop, match, routes }: Route, event: Matched, labels: Labels = {}): string[] {
  if (drop.some((rule) => matches(rule, event, labels))) return [];
  const matching = match.filter((rule) => matches(rule, event, labels));
  const own = matching.map(({ receiver }) => receiver).filter((name) => name !== '');
  // Rules that match hand over even where others do not; only the way further down needs all.
  if (matching.length < match.length) return own;
  return [...own, ...routes.flatMap((each) => receiversOf(each, event, labels))];
}

function matches(rule: Rule, event: Matched, labels: Labels): boolean {
  const { involvedObject, metadata, source, count = 0 } = event;
  const pairs = [
    [rule.message, event.message],
    [rule.apiVersion, involvedObject.apiVersion],
    [rule.kind, involvedObject.kind],
    [rule.namespace, metadata.namespace],
    [rule.reason, event.reason],
    [rule.type, event.type],
    [rule.component, source.component],
    [rule.host, source.host],
  ] as const;
  return (
    pairs.every(([pattern, value]) => pattern === '' || new RegExp(pattern).test(value ?? '')) &&
    Object.entries(rule.labels).every(
      ([name, pattern]) => labels[name] !== undefined && new RegExp(pattern).test(labels[name]),
    ) &&
    count >= rule.minCount
  );
}
