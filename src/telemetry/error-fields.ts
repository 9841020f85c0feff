/** An error as it stands in the log. */
export interface ErrorFields {
  /** At most 1,000 characters. */
  message: string;
  code?: string | number;
  cause?: unknown;
  stack?: string;
}

const longest = 1000;
/** Causes of causes; a chain may be a circle. */
const deepest = 4;

/** Anything may be thrown. Objects that are no errors are left as they are. */
export function errorFields(error: unknown, withStack: boolean, depth = 0): unknown {
  if (!(error instanceof Error))
    return typeof error === 'object' && error !== null ? error : { message: String(error).slice(0, longest) };
  const { code, cause, stack } = error as NodeJS.ErrnoException;
  const fields: ErrorFields = { message: messageOf(error).slice(0, longest) };
  if (typeof code === 'string' || typeof code === 'number') fields.code = code;
  if (cause !== undefined && depth < deepest) fields.cause = errorFields(cause, withStack, depth + 1);
  if (withStack && stack !== undefined) fields.stack = stack;
  return fields;
}

/** A connection refused on every address of a host is an AggregateError that says nothing itself. */
function messageOf(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message;
  return error.errors.map((each: unknown) => (each instanceof Error ? each.message : String(each))).join('; ');
}
