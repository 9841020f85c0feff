/** Writes what lists all causes, from the catalogue: the table in docs/causes/README.md, two alerts and the dashboard. */
import { readFileSync, writeFileSync } from 'node:fs';
import { causes } from '../src/explain/incidents/catalogue/catalogue.ts';
import type { Cause } from '../src/explain/incidents/catalogue/cause.ts';

const rows = causes.toSorted((a, b) => (a.code < b.code ? -1 : 1));
const pageOf = ({ code, name }: Cause): string => `${code}-${name}.md`;
/** These causes have alerts of their own, or are no incidents. */
const apart = new Set(['KN401', 'KN402', 'KN403']);

update('docs/causes/README.md', /(?<=\|---\|---\|---\|---\|\n)(?:\|.*\n)+/, () =>
  rows
    .map((row) => `| [${row.code}](${pageOf(row)}) | ${row.title} | \`${row.reason}\` | ${row.severity} |\n`)
    .join(''),
);
for (const [alert, severity] of [
  ['Serious', 'serious'],
  ['Warning', 'warning'],
] as const)
  update(
    'deploy/monitoring/prometheus-rules.yaml',
    new RegExp(`(?<=KubeNetfilterTailerIncident${alert}\\n[^"]*incident_open\\{code=~")[KN\\d|]+`),
    () =>
      rows
        .filter((row) => row.severity === severity && !apart.has(row.code))
        .map(({ code }) => code)
        .join('|'),
  );
// The dashboard is JSON: a line break in its text is a backslash and an n.
update('deploy/monitoring/dashboard.json', /(?:- KN\d+ (?:(?!\\n|").|\\")*\$\{docs\}(?:(?!\\n|").)*(?:\\n)?)+/, () =>
  rows
    .map((row) => `- ${row.code} ${JSON.stringify(row.title).slice(1, -1)}: \${docs}/docs/causes/${pageOf(row)}`)
    .join(String.raw`\n`),
);

function update(path: string, place: RegExp, text: () => string): void {
  const file = new URL(`../${path}`, import.meta.url);
  const before = readFileSync(file, 'utf8');
  if (!place.test(before)) throw new Error(`${path} has no list of causes`);
  writeFileSync(file, before.replace(place, text));
}
