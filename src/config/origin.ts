/** Where a value is from. */
export type Origin =
  | { readonly kind: 'option'; readonly flag: string }
  | { readonly kind: 'variable'; readonly name: string }
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly line: number;
      readonly column: number;
      readonly key: string;
    }
  | { readonly kind: 'default' };

/** For a person: `--max-nodes`, `MAX_NODES`, `/etc/knt.yaml:3:1`. */
export function placeOf(origin: Origin): string {
  switch (origin.kind) {
    case 'option':
      return `--${origin.flag}`;
    case 'variable':
      return origin.name;
    case 'file':
      return `${origin.path}:${origin.line}:${origin.column}`;
    case 'default':
      return 'default';
    default:
      return origin satisfies never;
  }
}

/** What is wrong with a value: `MAX_NODES "many": must be a whole number`. */
export function problemWith(origin: Origin, value: unknown, message: string): string {
  const key = origin.kind === 'file' ? `: ${origin.key}` : '';
  return `${placeOf(origin)}${key}${shown(value)}: ${message}`;
}

const longest = 80;

/** Also what a stranger wrote fits on a line; what is no single value is not shown. */
function shown(value: unknown): string {
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  const text = typeof value === 'string' && value.length > longest ? `${value.slice(0, longest)}…` : value;
  return ` ${typeof text === 'number' ? String(text) : JSON.stringify(text)}`;
}
