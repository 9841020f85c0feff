import type { Millis } from '../../model/log-line.ts';
import { printable, printableJson } from '../../platform/printable.ts';
import type { Check, Status } from './check.ts';

export interface Report {
  version: string;
  node: string;
  time: Millis;
  checks: readonly Check[];
}

const order = ['problem', 'warning', 'unknown', 'ok'] as const satisfies readonly Status[];

/** Of all checks together: the worst of them; what could not be found out makes nothing worse than ok. */
export function statusOf(checks: readonly Check[]): 'ok' | 'warning' | 'problem' {
  const worst = order.find((status) => checks.some((check) => check.status === status));
  return worst === 'problem' || worst === 'warning' ? worst : 'ok';
}

/** One object; docs/doctor.md has its keys. */
export function jsonReport({ version, node, time, checks }: Report): string {
  const summary = Object.fromEntries(order.toReversed().map((status) => [status, countOf(checks, status)]));
  const all = checks.map(({ name, status, finding, advice }) => ({ name, status, finding, advice: advice ?? null }));
  const report = { version, node, time: new Date(time).toISOString(), status: statusOf(checks), summary, checks: all };
  return `${printableJson(JSON.stringify(report, null, 2))}\n`;
}

/** Puts colour around a status; leaves it alone where there is no terminal. */
export type Paint = (status: Status, text: string) => string;

/** A line for each check, and one below it that says what to do. */
export function textReport({ checks }: Report, paint: Paint): string {
  const widths = { status: width(checks.map(({ status }) => status)), name: width(checks.map(({ name }) => name)) };
  const lines = checks.flatMap(({ name, status, finding, advice }) => [
    `${paint(status, status.padEnd(widths.status))}  ${printable(name).padEnd(widths.name)}  ${printable(finding)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(widths.status)}  → ${printable(advice)}`]),
  ]);
  return `${lines.join('\n')}\n\n${summaryLine(checks)}\n`;
}

function summaryLine(checks: readonly Check[]): string {
  const counts = order.map((status) => ({ status, count: countOf(checks, status) })).filter(({ count }) => count > 0);
  return counts
    .map(
      ({ status, count }) =>
        `${count} ${count === 1 || status === 'ok' || status === 'unknown' ? status : `${status}s`}`,
    )
    .join(', ');
}

function countOf(checks: readonly Check[], status: Status): number {
  return checks.filter((check) => check.status === status).length;
}

/** Long names stand out rather than push all others to the right. */
function width(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => printable(text).length).filter((length) => length <= 24));
}
