import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { causes } from '../../src/explain/incidents/catalogue/catalogue.ts';
import { alerts, root, textOf } from './files.ts';

test.each(alerts)('$alert states the problem, its duration and its page', ({ alert, annotations, ...rule }) => {
  expect(alert).toMatch(/^KubeNetfilterTailer[A-Z]/);
  expect(rule.for).toMatch(/^\d+m$/);
  expect(['critical', 'warning']).toContain(rule.labels.severity);
  expect(annotations.summary).not.toBe('');
  expect(annotations.description.length).toBeGreaterThan(annotations.summary.length);
  expect(annotations.runbook_url).toBe(`docs/alerts/${alert}.md`);
  expect(textOf(annotations.runbook_url)).toMatch(new RegExp(`^# ${alert}: `));
  expect(textOf(annotations.runbook_url)).toContain('](../monitoring.md');
});

test('no name is given twice, and every page belongs to an alert', () => {
  const names = alerts.map(({ alert }) => alert);
  expect(new Set(names).size).toBe(names.length);
  expect(readdirSync(new URL('docs/alerts/', root)).toSorted()).toEqual(names.map((name) => `${name}.md`).toSorted());
});

test('docs/monitoring.md lists each alert once, in the order of the rules, with their delay and severity', () => {
  const rows = textOf('docs/monitoring.md').matchAll(/^\| (\[\w+\]\(alerts\/.*) \|$/gm);
  const listed = Array.from(rows, ([, row = '']) => row.split(' | '));
  expect(listed.map(([link, , delay, severity]) => [link, delay, severity])).toEqual(
    alerts.map(({ alert, labels, ...rule }) => [`[${alert}](alerts/${alert}.md)`, rule.for, labels.severity]),
  );
});

test('each cause that is an incident raises one alert, of the severity that the catalogue gives', () => {
  const severities = Object.fromEntries(
    alerts.flatMap(({ expr, labels }) =>
      [.../incident_open\{code=~?"([KN|\d]+)"\}/g[Symbol.matchAll](expr)].flatMap(([, codes = '']) =>
        codes.split('|').map((code) => [code, labels.severity]),
      ),
    ),
  );
  // Martian packets are reported as packets, and never open an incident.
  const incidents = causes.filter(({ code }) => code !== 'KN403');
  expect(severities).toEqual(
    Object.fromEntries(incidents.map(({ code, severity }) => [code, severity === 'serious' ? 'critical' : 'warning'])),
  );
});
