/**
 * Marks over the blocks of a page: `<!-- output: NAME -->` where outputs.ts makes the block, `<!-- recorded by PATH
 * -->` where that test checks it.
 */

/** A block that shows the output of a command. */
export interface ShownBlock {
  readonly name: string;
  readonly lines: readonly string[];
  /** The commands of the last `sh` block before it. */
  readonly commands: string;
}

const mark = /^<!-- (output: [\w-]+|recorded by \S+) -->\n+```(\w+)\n(.*?)^```$/gms;

export function shownBlocks(page: string): ShownBlock[] {
  return [...page.matchAll(mark)].flatMap(({ index, 1: what = '', 3: text = '' }) => {
    const [, name] = /^output: (.*)$/.exec(what) ?? [];
    if (name === undefined) return [];
    const commands = [...page.slice(0, index).matchAll(/^```sh\n(.*?)^```$/gms)].at(-1)?.[1] ?? '';
    return [{ name, lines: text.replace(/\n$/, '').split('\n'), commands }];
  });
}

/** Tests that check the outputs on a page. */
export function recordersOf(page: string): string[] {
  return [...page.matchAll(/^<!-- recorded by (\S+) -->$/gm)].map(([, path = '']) => path);
}

/** The page with these outputs in place of the ones that it shows. */
export function withOutputs(page: string, outputs: ReadonlyMap<string, readonly string[]>): string {
  return page.replace(mark, (whole, what: string, language: string) => {
    const lines = outputs.get(what.replace('output: ', ''));
    return lines === undefined ? whole : `<!-- ${what} -->\n\`\`\`${language}\n${lines.join('\n')}\n\`\`\``;
  });
}

/** The first lines of blocks in these languages that have no mark. */
export function unmarked(page: string, languages: readonly string[]): string[] {
  return [...page.matchAll(/^(.*)\n[ ]*```(\w+)\n(.*)$/gm)].flatMap(([, before = '', language = '', first = '']) =>
    languages.includes(language) && !before.startsWith('<!-- ') ? [first] : [],
  );
}
