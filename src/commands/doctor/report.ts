/** Prints what doctor has found. */
import type { Millis } from '../../model/log-line.ts';
import { humanDuration } from '../../platform/duration.ts';
import { printable, printableJson } from '../../platform/printable.ts';

export type Status = 'ok' | 'warning' | 'problem' | 'unknown';

/** Keys and their order are those of `--output json`. */
export interface Check {
  /** Stable, and unique within a report: `rights`, `source containers`, `prefix calico-drop:`. */
  name: string;
  status: Status;
  finding: string;
  /** One line that says what to do; undefined when all is well. */
  advice: string | undefined;
}

/** The answers that a check of that name may give. `unknown` is never counted as a problem: what is not seen from here may well be right. */
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

/** The advice where the API server could not be asked. */
export const seeApiServer = 'see the line api-server; then run doctor again';

/** `3s ago`; `3s in the future`, as a wrong clock or time zone may have it. */
export function ago(time: Millis, now: Millis): string {
  const past = now - time;
  return past > -1000 ? `${humanDuration(Math.max(0, past))} ago` : `${humanDuration(-past)} in the future`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export interface Report {
  version: string;
  node: string;
  time: Millis;
  checks: readonly Check[];
}

const order = ['problem', 'warning', 'unknown', 'ok'] as const satisfies readonly Status[];

/** The worst status of all checks; what could not be found out makes nothing worse than ok. */
export function statusOf(checks: readonly Check[]): 'ok' | 'warning' | 'problem' {
  const worst = order.find((status) => countOf(checks, status) > 0);
  return worst === 'problem' || worst === 'warning' ? worst : 'ok';
}

/** One object; docs/doctor.md has its keys. */
export function jsonReport({ version, node, time, checks }: Report): string {
  const summary = Object.fromEntries(order.toReversed().map((status) => [status, countOf(checks, status)]));
  const all = checks.map(({ name, status, finding, advice }) => ({ name, status, finding, advice: advice ?? null }));
  const report = { version, node, time: new Date(time).toISOString(), status: statusOf(checks), summary, checks: all };
  return `${printableJson(JSON.stringify(report, null, 2))}\n`;
}

/** A line for each check, and one below it that says what to do. `paint` puts colour around a status. */
export function textReport({ checks }: Report, paint: (status: Status, text: string) => string): string {
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

/** The width of a column. Long names stand out rather than push all others to the right. */
function width(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => printable(text).length).filter((length) => length <= 24));
}
