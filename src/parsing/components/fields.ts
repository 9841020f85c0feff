import { cut, errorLimit, fieldLimit, maxFields } from './limits.ts';

/** Whose values are error text. */
const errorKeys = new Set(['err', 'error', 'errorOutput', 'stderr']);
/** All rules of the node: they are no error, and what is searched for in errors stands in them too. */
const dumpKeys = new Set(['rules', 'input', 'iptablesState']);

export function isErrorKey(key: string): boolean {
  return errorKeys.has(key);
}

export interface Fields {
  /** Of two with the same key the later one counts. */
  add: (key: string, value: string) => void;
  addError: (text: string) => void;
  readonly values: Readonly<Record<string, string>>;
  readonly error: string;
}

export function createFields(): Fields {
  const fields = new Map<string, string>();
  let error = '';

  return {
    add(key, value) {
      if (errorKeys.has(key)) addError(value);
      if (dumpKeys.has(key) || (fields.size >= maxFields && !fields.has(key))) return;
      fields.set(key, cut(value, fieldLimit));
    },
    addError,
    get values() {
      return Object.fromEntries(fields);
    },
    get error() {
      return error;
    },
  };

  function addError(text: string): void {
    const more = text.trimEnd();
    if (more === '' || error.length >= errorLimit) return;
    error = cut(error === '' ? more : `${error}\n${more}`, errorLimit);
  }
}
