import { expect, test } from 'vitest';
import type { Incident } from '../../../src/explain/incidents/incident.ts';
import { causeOf, causes } from '../../../src/explain/incidents/catalogue/catalogue.ts';
import { rulesConditionOf } from '../../../src/explain/incidents/reporting/message.ts';
import { nine } from '../../builders.ts';
import { expectLines } from '../../expected-file.ts';
import { openIncident } from './node-incidents.ts';

const open = (code: string, given: Partial<Incident> = {}): Incident =>
  openIncident({ code, last: nine, quote: 'a line of a stranger <!channel>', ...given });

test('the condition is False while no incident is open', () => {
  const none = { status: 'False', reason: 'NetfilterRulesCurrent', since: undefined };
  expect(rulesConditionOf([], 'node-a')).toMatchObject(none);
  const phases = [open('KN102', { phase: 'over' }), open('KN103', { phase: 'suspected' })];
  expect(rulesConditionOf(phases, 'node-a')).toMatchObject(none);
});

test('the condition names the causes, with the first one as its reason, and since when they last', () => {
  const incidents = [open('KN104', { opened: nine + 90_000 }), open('KN102')];
  expect(rulesConditionOf(incidents, 'node-a')).toEqual({
    status: 'True',
    reason: 'ServiceChainMissing',
    message: `KN102: ${causeOf('KN102').title}; KN104: ${causeOf('KN104').title}. Details: kubectl describe node node-a`,
    since: nine + 30_000,
  });
});

test('the condition does not change when an incident fails again, so nothing is written', () => {
  const again = open('KN102', { failures: 900, last: nine + 3_600_000, quote: 'another' });
  expect(rulesConditionOf([again], 'node-a')).toEqual(rulesConditionOf([open('KN102')], 'node-a'));
});

test('one cause of two programs is named once; of many causes, the first four are named', () => {
  expect(rulesConditionOf([open('KN104'), open('KN104', { failing: 'felix' })], 'a').message).not.toContain(';');
  const many = ['KN102', 'KN103', 'KN104', 'KN105', 'KN106', 'KN107'].map((code) => open(code));
  expect(rulesConditionOf(many, 'a').message).toMatch(/KN105: [^;]*, and 2 more\. Details/);
});

test('condition.expected.txt lists the causes that make the condition True, and those that do not', async () => {
  const lines = causes.map(({ code, name }) => `${code} ${name}: ${rulesConditionOf([open(code)], 'a').status}`);
  await expectLines(import.meta.dirname, 'condition.expected.txt', lines.toSorted());
});

test('if two incidents began at once, the lower code is the reason, so the condition does not depend on their order', () => {
  const [one, other] = [open('KN102'), open('KN104')];
  expect(rulesConditionOf([other, one], 'node-a')).toEqual(rulesConditionOf([one, other], 'node-a'));
});
