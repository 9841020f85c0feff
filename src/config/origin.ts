import { printable } from '../platform/printable.ts';

/** The place that a value is from. */
export type Origin =
  | { readonly kind: 'option'; readonly flag: string }
  | { readonly kind: 'variable'; readonly name: string }
  | FileOrigin
  | { readonly kind: 'default' };

export interface FileOrigin {
  readonly kind: 'file';
  readonly path: string;
  readonly text: string;
  readonly offset: number;
  readonly key: string;
}

/** Names the origin to a person: `--max-nodes`, `MAX_NODES`, `/etc/knt.yaml:3:1`. */
export function placeOf(origin: Origin): string {
  switch (origin.kind) {
    case 'option':
      return `--${origin.flag}`;
    case 'variable':
      return origin.name;
    case 'file':
      return `${origin.path}:${lineAndColumn(origin.text, origin.offset)}`;
    case 'default':
      return 'default';
    default:
      return origin satisfies never;
  }
}

/** `3:1`, both from 1. */
export function lineAndColumn(text: string, offset: number): string {
  const lines = text.slice(0, offset).split('\n');
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}

/** Words a problem: `MAX_NODES "many": must be a whole number`. */
export function problemWith(origin: Origin, value: unknown, message: string): string {
  const key = origin.kind === 'file' ? `: ${origin.key}` : '';
  return `${placeOf(origin)}${key}${shownValue(value)}: ${message}`;
}

const longest = 80;

/** Shows at most a line of a value, whatever it holds; a list or a map is not shown. */
function shownValue(value: unknown): string {
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  const text = typeof value === 'string' && value.length > longest ? `${value.slice(0, longest)}…` : value;
  return ` ${typeof text === 'number' ? String(text) : JSON.stringify(text)}`;
}

/** A user reads no more, and what a file of nothing but mistakes costs is bounded. */
const most = 25;

/** A problem, put into words only when it is shown: a file may hold more mistakes than a user reads. */
export type Problem = () => string;

export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly Problem[]) {
    const shown = problems.slice(0, most).map((problem) => printable(problem()));
    if (problems.length > most) shown.push(`and ${problems.length - most} more`);
    super(shown.join('\n'));
    this.problems = shown;
  }
}
