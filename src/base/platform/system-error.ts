const reasons: Record<string, string> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'is a folder; name the files in it',
  ENOTDIR: 'a part of the path is not a folder',
  EMFILE: 'too many open files',
};

export function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  return (code !== undefined && reasons[code]) || (error instanceof Error ? error.message : String(error));
}
