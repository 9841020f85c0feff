/** Root may read everything, so it does this as another user. */
export function asUnprivileged<T>(task: () => T): T {
  if (process.geteuid?.() !== 0) return task();
  process.seteuid?.(65_534);
  try {
    return task();
  } finally {
    process.seteuid?.(0);
  }
}
