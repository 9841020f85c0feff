import { expect, test } from 'vitest';
import type { Incident } from '../../../src/explain/incidents/incident.ts';
import { causeOf, causes } from '../../../src/explain/incidents/catalogue/catalogue.ts';
import { rulesConditionOf } from '../../../src/explain/incidents/reporting/message.ts';
import { nine } from '../../builders.ts';
import { openIncident } from './node-incidents.ts';

const open = (code: string, given: Partial<Incident> = {}): Incident =>
  openIncident({ code, last: nine, quote: 'a line of a stranger <!channel>', ...given });

test('is False as long as no incident is open', () => {
  const none = { status: 'False', reason: 'NetfilterRulesCurrent', since: undefined };
  expect(rulesConditionOf([], 'node-a')).toMatchObject(none);
  const phases = [open('KN102', { phase: 'over' }), open('KN103', { phase: 'suspected' })];
  expect(rulesConditionOf(phases, 'node-a')).toMatchObject(none);
});

test('names the causes, the first of them as its reason, and since when', () => {
  const incidents = [open('KN104', { opened: nine + 90_000 }), open('KN102')];
  expect(rulesConditionOf(incidents, 'node-a')).toEqual({
    status: 'True',
    reason: 'ServiceChainMissing',
    message: `KN102: ${causeOf('KN102').title}; KN104: ${causeOf('KN104').title}. Details: kubectl describe node node-a`,
    since: nine + 30_000,
  });
});

test('does not change when it fails again, so that nothing is written', () => {
  const again = open('KN102', { failures: 900, last: nine + 3_600_000, quote: 'another' });
  expect(rulesConditionOf([again], 'node-a')).toEqual(rulesConditionOf([open('KN102')], 'node-a'));
});

test('one cause of two programs is named once, and of many causes the first four', () => {
  expect(rulesConditionOf([open('KN104'), open('KN104', { failing: 'felix' })], 'a').message).not.toContain(';');
  const many = ['KN102', 'KN103', 'KN104', 'KN105', 'KN106', 'KN107'].map((code) => open(code));
  expect(rulesConditionOf(many, 'a').message).toMatch(/KN105: [^;]*, and 2 more\. Details/);
});

test.each(causes.map(({ code }) => code))(
  '%s counts where Pods are affected because rules cannot be written',
  (code) => {
    const others = ['KN117', 'KN118', 'KN119', 'KN120', 'KN121', 'KN123', 'KN204', 'KN206', 'KN207', 'KN210'];
    const counts = !others.includes(code) && (code.startsWith('KN1') || code.startsWith('KN2'));
    expect(rulesConditionOf([open(code)], 'a').status).toBe(counts ? 'True' : 'False');
  },
);

test('the lower code of two incidents that began at once is the reason, so that the condition does not change with their order', () => {
  const [one, other] = [open('KN102'), open('KN104')];
  expect(rulesConditionOf([other, one], 'node-a')).toEqual(rulesConditionOf([one, other], 'node-a'));
});
