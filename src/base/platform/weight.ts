/** Estimates V8's memory for plain data. A test compares it with the measured heap (test/base/platform/weight.test.ts). */
export type Bytes = number;

/** By kind of value, with 64-bit pointers. `freeProperty`: of an object with varying keys, for which V8 also keeps the shape. */
const weights = {
  reference: 8,
  number: 16,
  text: 16,
  list: 48,
  record: 56,
  freeProperty: 84,
  table: 104,
  tableEntry: 40,
} as const;

export interface WeightOptions {
  /** Strangers choose the keys of its objects, as in labels. */
  readonly freeKeys?: boolean;
}

/** Does not recurse, because strangers may nest half a million lists. Functions and shared values count each time. */
export function weightOf(value: unknown, { freeKeys = false }: WeightOptions = {}): Bytes {
  const left: unknown[] = [];
  let sum = shallowWeight(value, freeKeys, left);
  while (left.length > 0) sum += shallowWeight(left.pop(), freeKeys, left);
  return sum;
}

/** Adds the parts to `left`. */
function shallowWeight(value: unknown, freeKeys: boolean, left: unknown[]): Bytes {
  if (typeof value === 'string') return weightOfText(value);
  if (typeof value === 'number') return (value | 0) === value ? 0 : weights.number;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) {
    for (const each of value) if (isWeighty(each)) left.push(each);
    return weights.list + weights.reference * value.length;
  }
  if (value instanceof Map) {
    for (const pair of value) left.push(...pair);
    return weights.table + weights.tableEntry * value.size;
  }
  if (value instanceof Set) {
    left.push(...value);
    return weights.table + weights.tableEntry * value.size;
  }
  const keys = Object.keys(value);
  let sum = weights.record + keys.length * (freeKeys ? weights.freeProperty : weights.reference);
  for (const key of keys) {
    if (freeKeys) sum += weightOfText(key);
    const each = (value as Readonly<Record<string, unknown>>)[key];
    if (isWeighty(each)) left.push(each);
  }
  return sum;
}

function isWeighty(value: unknown): boolean {
  return typeof value === 'object' || typeof value === 'string' || typeof value === 'number';
}

/** V8 shares texts of one character. */
export function weightOfText(text: string): Bytes {
  if (text.length <= 1) return 0;
  const bytes = isWide(text) ? 2 * text.length : text.length;
  return weights.text + Math.ceil(bytes / 8) * 8;
}

function isWide(text: string): boolean {
  return /[^\0-\u00ff]/.test(text);
}
