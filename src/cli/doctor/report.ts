import { documentAt } from '../../agent/config/docs-url.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { printable } from '../../base/platform/printable.ts';
import { jsonText, plural } from '../terminal.ts';
import type { Detection, Recipe } from './enable-logging/detect.ts';

export type Status = 'ok' | 'warning' | 'problem' | 'unknown';

/** The keys and their order are those of `--output json`. */
export interface Check {
  /** The name does not change between versions, and is unique within a report: `rights`, `source containers`, `prefix calico-drop:`. */
  name: string;
  status: Status;
  finding: string;
  /** The advice in one line; undefined if nothing has to be done. */
  advice: string | undefined;
}

/** `unknown` is not a problem, because a thing that cannot be seen may be right. */
export function answersOf(name: string) {
  const answer =
    (status: Status) =>
    (finding: string, advice: string): Check => ({ name, status, finding, advice });
  return {
    ok: (finding: string): Check => ({ name, status: 'ok', finding, advice: undefined }),
    warning: answer('warning'),
    problem: answer('problem'),
    unknown: answer('unknown'),
  };
}

export const seeApiServer = 'see the line api-server; then run doctor again';

/** Returns `3s ago`, or `3s in the future` if a clock or a time zone is wrong. */
export function ago(time: Millis, now: Millis): string {
  const past = now - time;
  return past > -1000 ? `${humanDuration(Math.max(0, past))} ago` : `${humanDuration(-past)} in the future`;
}

export interface DoctorReport {
  version: string;
  node: string;
  time: Millis;
  checks: readonly Check[];
}

const order = ['problem', 'warning', 'unknown', 'ok'] as const satisfies readonly Status[];

/** `unknown` counts as ok. */
export function statusOf(checks: readonly Check[]): 'ok' | 'warning' | 'problem' {
  const worst = order.find((status) => countOf(checks, status) > 0);
  return worst === 'problem' || worst === 'warning' ? worst : 'ok';
}

/** docs/doctor.md explains the keys. */
export function jsonReport({ version, node, time, checks }: DoctorReport): string {
  const summary = Object.fromEntries(order.toReversed().map((status) => [status, countOf(checks, status)]));
  const all = checks.map(({ name, status, finding, advice }) => ({ name, status, finding, advice: advice ?? null }));
  const report = { version, node, time: new Date(time).toISOString(), status: statusOf(checks), summary, checks: all };
  return jsonText(report, 2);
}

export function textReport({ checks }: DoctorReport, paint: (status: Status, text: string) => string): string {
  const widths = { status: width(checks.map(({ status }) => status)), name: width(checks.map(({ name }) => name)) };
  const lines = checks.flatMap(({ name, status, finding, advice }) => [
    `${paint(status, status.padEnd(widths.status))}  ${printable(name).padEnd(widths.name)}  ${printable(finding)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(widths.status)}  → ${printable(advice)}`]),
  ]);
  const counts = order.map((status) => ({ status, count: countOf(checks, status) })).filter(({ count }) => count > 0);
  const summary = counts.map(({ status, count }) =>
    status === 'ok' || status === 'unknown' ? `${count} ${status}` : plural(count, status),
  );
  return `${lines.join('\n')}\n\n${summary.join(', ')}\n`;
}

function countOf(checks: readonly Check[], status: Status): number {
  return checks.filter((check) => check.status === status).length;
}

/** Texts over 24 characters do not count, so that a long name does not move all others to the right. */
function width(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => printable(text).length).filter((length) => length <= 24));
}

const verdicts: Readonly<Record<Recipe['works'], string>> = {
  switch: 'works after these steps',
  ready: 'works',
  no: 'does not work',
};

export function recipesText(recipes: readonly Recipe[], seen: Detection, obstacles: readonly string[]): string {
  const parts = [...kernelDropsText(recipes), ...recipes.map(recipeText)];
  if (recipes.length === 0)
    parts.push(
      `No network plug-in was recognised${obstacles.length > 0 ? '' : ' by its Pods'}. ${documentAt('docs/logging.md')} says how to find it on a node, and how to make your own rules log.\n`,
    );
  if (seen.plugIns.length > 1)
    parts.push('Several plug-ins were recognised: follow the one that enforces your policies.\n');
  if (obstacles.length > 0) parts.push(`Some checks could not be made: ${printable(obstacles.join('; '))}\n`);
  return `${parts.join('\n')}\nNothing was changed.\n`;
}

/** The drops of these plug-ins that the component kernel-drops shows, because it needs no logging. */
function kernelDropsText(recipes: readonly Recipe[]): string[] {
  const names = recipes.filter(({ kernelDrops }) => kernelDrops).map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    `On Linux 5.18 or newer, the component kernel-drops shows the drops of ${names.join(' and ')}. Nothing has to log, but the agent can then trace the kernel: ${documentAt('docs/kernel-drops.md')}\n`,
  ];
}

function recipeText({ name, works, why, before = [], manifest, commands = [], undo = [], cost, page }: Recipe): string {
  const file = manifest === undefined ? [] : ['', `${manifest.file}:`, '', ...manifest.text.trimEnd().split('\n')];
  return `${[
    `${name}: ${verdicts[works]}. ${upperFirst(why)}.`,
    ...section(works === 'no' ? 'Instead' : 'Before', before),
    ...file,
    ...section('Run', commands),
    ...section('Undo', undo),
    ...section('Cost', cost === undefined ? [] : [cost]),
    '',
    `More: ${documentAt(page)}`,
  ]
    .map(printable)
    .join('\n')}\n`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)];
}

function upperFirst(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
