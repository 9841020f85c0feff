/** Makes texts for all outputs: printable and short, because anyone may have written the texts of rows. Outputs then escape them. */
import { printable } from '../../../base/platform/printable.ts';

/** The most characters of a name, which may contain two names of Kubernetes. */
const longestName = 300;
/** The most characters of an Event's message. */
const longestMessage = 1024;

export function plain(text: string): string {
  return cut(text, longestName);
}

export function plainMessage(text: string): string {
  return cut(text, longestMessage);
}

function cut(text: string, longest: number): string {
  const clean = printable(text);
  return clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
}

export function numberText(value: number): string {
  return value.toLocaleString('en-US');
}

/** Returns `2026-11-14 09:15` in UTC; '' if the time is undefined or invalid. */
export function timeText(time: number | undefined): string {
  const date = new Date(time ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 16).replace('T', ' ');
}

/** The time with its seconds. */
export function secondText(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}

export function durationText(millis: number): string {
  const units: readonly [number, string][] = [
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
    [1000, 'second'],
  ];
  const [size, unit] = units.find(([each]) => millis >= 2 * each) ?? ([1000, 'second'] as const);
  const count = Math.max(1, Math.round(millis / size));
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

export function countText(count: number, singular: string, plural = `${singular}s`): string {
  return `${numberText(count)} ${count === 1 ? singular : plural}`;
}
