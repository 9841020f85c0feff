/** Splits a rule into words; what is quoted is one, without its quotes and with its escapes undone (libxtables, xtables_save_string). */
export function wordsOf(rule: string): { text: string; isQuoted: boolean }[] {
  return [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain]) =>
    quoted === undefined
      ? { text: plain ?? '', isQuoted: false }
      : { text: quoted.replace(/\\(.)/g, '$1'), isQuoted: true },
  );
}
