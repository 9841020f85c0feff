import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { causeOf, causes, programNeedles } from '../../../../src/explain/incidents/catalogue/catalogue.ts';
import { lines } from './lines.ts';

const folder = new URL('../../../../docs/causes/', import.meta.url);
const pages = readdirSync(folder).filter((name) => name.startsWith('KN'));
it('has each code once, and all codes have one form', () => {
  expect(new Set(causes.map(({ code }) => code)).size).toBe(causes.length);
  for (const { code } of causes) expect(code).toMatch(/^KN[1-9]\d\d$/);
});

it('has each name and reason once', () => {
  for (const key of ['name', 'title', 'reason'] as const) {
    expect(new Set(causes.map((cause) => cause[key])).size).toBe(causes.length);
  }
});

it('throws for an unknown code', () => {
  expect(() => causeOf('KN999')).toThrow('KN999');
});

it('has a page for each row and a row for each page', () => {
  expect(pages.toSorted()).toEqual(causes.map(({ code, name }) => `${code}-${name}.md`).toSorted());
});

it('lists all rows', () => {
  const readme = readFileSync(new URL('README.md', folder), 'utf8');
  const rows = causes
    .toSorted((a, b) => (a.code < b.code ? -1 : 1))
    .map(
      ({ code, name, title, reason, severity }) =>
        `| [${code}](${code}-${name}.md) | ${title} | \`${reason}\` | ${severity} |`,
    );
  expect(readme.split('\n').filter((line) => line.startsWith('| [KN'))).toEqual(rows);
});

describe.each(causes.map((cause) => [cause.code, cause] as const))(
  '%s',
  (code, { name, title, reason, overReason, programs, retryInterval }) => {
    it('has a page that says what it is', () => {
      const page = readFileSync(new URL(`${code}-${name}.md`, folder), 'utf8');
      const all = page.trimEnd().split('\n');
      expect(all[0]).toBe(`# ${code}: ${title}`);
      expect(page).toContain(`\`${reason}\``);
      // Martian packets are counted as drops, which do not end.
      if (code !== 'KN403') expect(page).toContain(`\`${overReason}\``);
      expect(page).toContain(`[${code}]`);
      expect(all.filter((line) => line.startsWith('## '))).toEqual([
        '## What you see',
        '## What happened',
        '## How to check',
        '## How to fix it',
        '## How to prevent it',
      ]);
      expect(all.length).toBeGreaterThanOrEqual(25);
      expect(all.length).toBeLessThanOrEqual(60);
      expect(page).not.toContain('—');
    });

    it('links to pages that exist', () => {
      const page = readFileSync(new URL(`${code}-${name}.md`, folder), 'utf8');
      for (const [, target] of page.matchAll(/\]\((KN[^)]+)\)/g)) expect(pages).toContain(target);
    });

    it('has texts for Events', () => {
      expect(reason).toMatch(/^[A-Z][A-Za-z]{3,63}$/);
      expect(overReason).toMatch(/^[A-Z][A-Za-z]{3,63}$/);
      expect(overReason).not.toBe(reason);
      expect(title).not.toMatch(/\.$|—/);
      expect(retryInterval).toBeGreaterThanOrEqual(5000);
    });

    const found = lines.filter(({ sign }) => sign === code).length;

    it(`is found in ${programs.length > 0 ? 'three lines or more' : 'no line'}`, () => {
      expect(programs.length > 0 ? found >= 3 : found === 0).toBe(true);
    });
  },
);

it('has forty lines that match no cause', () => {
  expect(lines.filter(({ sign }) => sign === undefined).length).toBeGreaterThanOrEqual(40);
});

it('needles are literals that can be searched together', () => {
  expect(programNeedles.filter((needle) => needle.length < 8 || /[^\x20-\x7e]/.test(needle))).toEqual([]);
  const covered = programNeedles.filter((each) =>
    programNeedles.some((other) => other !== each && each.includes(other)),
  );
  expect(covered).toEqual([]);
});

it.each(causes.map((cause) => [cause.code, cause] as const))(
  "needles: %s: each line that it matches has one of its own, except klog's fatal records",
  (code, { needles }) => {
    const own = lines.filter(({ sign }) => sign === code);
    const without = own.filter(({ text }) => !/^F\d{4} /.test(text) && !needles.some((one) => text.includes(one)));
    expect(without.map(({ name }) => name)).toEqual([]);
  },
);
