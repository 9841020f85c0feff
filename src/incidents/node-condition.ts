import type { Millis } from '../model/log-line.ts';
import { causeOf } from './catalogue/catalogue.ts';
import type { Incident } from './incident.ts';

/** Name of the condition, in the way of node-problem-detector: `True` is the problem. */
export const conditionType = 'NetfilterRulesStale';

/** The condition of a Node (core/v1 NodeCondition, without its times). */
export interface RulesCondition {
  status: 'True' | 'False';
  /** One word: the Event's reason of the incident that began first. */
  reason: string;
  message: string;
  /** The time at which it became true. */
  since: Millis | undefined;
}

/** Causes named in the message; a node has few at a time. */
const namedCauses = 4;

/**
 * Whether rules of this node cannot be programmed: by open incidents of kube-proxy and Calico (KN1xx, KN2xx) of which Pods are notified, no
 * warnings, no kernel tables. It does not count failures, so that it changes seldom.
 */
export function rulesConditionOf(incidents: readonly Incident[], node: string): RulesCondition {
  const open = incidents
    .filter(({ phase, code }) => phase === 'open' && isAboutRules(code))
    .toSorted((one, other) => beginOf(one) - beginOf(other) || (one.code < other.code ? -1 : 1));
  const [first] = open;
  if (first === undefined)
    return {
      status: 'False',
      reason: 'NetfilterRulesCurrent',
      message: 'No failure to write netfilter rules is known',
      since: undefined,
    };
  const codes = [...new Set(open.map(({ code }) => code))];
  const named = codes.slice(0, namedCauses).map((code) => `${code}: ${causeOf(code).title}`);
  const more = codes.length > namedCauses ? `, and ${codes.length - namedCauses} more` : '';
  return {
    status: 'True',
    reason: causeOf(first.code).reason,
    message: `${named.join('; ')}${more}. Details: kubectl describe node ${node}`,
    since: beginOf(first),
  };
}

function isAboutRules(code: string): boolean {
  return /^KN[12]/.test(code) && causeOf(code).severity === 'serious';
}

function beginOf({ opened, first }: Incident): Millis {
  return opened ?? first;
}
