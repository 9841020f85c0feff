import type { CoreEvent } from '../../../src/publish/events/event.ts';
import type { Route, Rule } from './exporter-config.ts';

type Labels = Readonly<Record<string, string>>;

/**
 * Names of the receivers that an Event is handed to, once for each rule that hands it there.
 * Source: pkg/exporter/route.go and rule.go of resmoio/kubernetes-event-exporter. `labels`: of the involved object.
 */
export function receiversOf({ drop, match, routes }: Route, event: CoreEvent, labels: Labels = {}): string[] {
  if (drop.some((rule) => matches(rule, event, labels))) return [];
  const matching = match.filter((rule) => matches(rule, event, labels));
  const own = matching.map(({ receiver }) => receiver).filter((name) => name !== '');
  // Rules that match hand over even where others do not; only the way further down needs all.
  if (matching.length < match.length) return own;
  return [...own, ...routes.flatMap((each) => receiversOf(each, event, labels))];
}

function matches(rule: Rule, event: CoreEvent, labels: Labels): boolean {
  const { involvedObject, metadata, source } = event;
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
    )
  );
}
