/** Characters of a message. */
const longest = 1000;
/** Causes of causes; a chain may be a circle. */
const deepest = 4;

/** Anything may be thrown. Objects that are no errors are left as they are. */
export function errorFields(error: unknown, withStack: boolean, depth = 0): unknown {
  if (!(error instanceof Error))
    return typeof error === 'object' && error !== null ? error : { message: String(error).slice(0, longest) };
  const { code, cause, stack } = error as NodeJS.ErrnoException;
  return {
    message: messageOf(error).slice(0, longest),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(cause !== undefined && depth < deepest && { cause: errorFields(cause, withStack, depth + 1) }),
    ...(withStack && stack !== undefined && { stack }),
  };
}

/** A connection refused on every address of a host is an AggregateError that says nothing itself. */
function messageOf(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message;
  return error.errors.map((each: unknown) => (each instanceof Error ? each.message : String(each))).join('; ');
}
