import type { CoreEvent } from '../../../src/publish/events/event.ts';
import type { Route, Rule } from './exporter-config.ts';

type Labels = Readonly<Record<string, string>>;

/**
 * The receivers that get an Event, once for each rule that sends it there. Source: pkg/exporter/route.go and rule.go of
 * resmoio/kubernetes-event-exporter. `labels`: those of the involved object.
 */
export function receiversOf({ drop, match, routes }: Route, event: CoreEvent, labels: Labels = {}): string[] {
  if (drop.some((rule) => matches(rule, event, labels))) return [];
  const matching = match.filter((rule) => matches(rule, event, labels));
  const own = matching.map(({ receiver }) => receiver).filter((name) => name !== '');
  // Rules that match send the Event even if others do not; only to continue below, all must match.
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
