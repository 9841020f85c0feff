/**
 * Finds tests that repeat the wording of src: five words in a row of one of its messages. One table of each slice has the wording, so that
 * a message can be worded better by changing the message and one row; all other tests assert codes, keys, levels, subjects and counts.
 */
import { parseAst } from 'vitest/node';
import { filesBelow, textOf } from '../../test/docs/documents.ts';

/** Where the wording of a slice stands, beside files of expected messages. */
const tables = /\/wording\.test\.ts$|^test\/drops\/message\.test\.ts$/;

/** Words that programs other than this one print, and which src looks for. */
const foreign = /^src\/(?:events\/retry|incidents\/catalogue|parsing\/components|sources\/journald)/;

/** The catalogue's own messages. */
const causesFile = 'test/explain/incidents/catalogue/causes.expected.txt';

/** So many words in a row are no accident. */
const length = 5;

interface Literal {
  /** Each expression in it is written `…`. */
  text: string;
  line: number;
}

/** One line for each text of a test that repeats wording, with the file of src that has it. */
export function repeatedWording(): string[] {
  // Without what is before the first colon, which says of what they are.
  const causes = textOf(causesFile)
    .split('\n')
    .map((line) => line.replace(/^[^:]*: /, ''));
  const sources = filesBelow('src', '.ts').filter((file) => !foreign.test(file));
  const wording = new Map([
    ...causes.flatMap((text) => runsOf(text).map((run) => [run, causesFile] as const)),
    ...sources.flatMap((file) =>
      literalsOf(textOf(file)).flatMap(({ text }) => runsOf(text).map((run) => [run, file] as const)),
    ),
  ]);
  return filesBelow('test', '.test.ts')
    .filter((file) => !tables.test(file))
    .flatMap((file) =>
      literalsOf(textOf(file)).flatMap(({ text, line }) => {
        const run = runsOf(text).find((words) => wording.has(words));
        if (run === undefined) return [];
        return `${file}:${line} repeats "${run}" of ${wording.get(run)}: wording stands in the slice's wording.test.ts; assert codes, subjects, counts`;
      }),
    );
}

/** Each `length` words that stand in a row, without what is around them. */
function runsOf(text: string): string[] {
  const found: string[] = [];
  let row: string[] = [];
  for (const token of text.split(/\s+/)) {
    const word = token.replace(/^["'([]+/, '').replace(/["',.:;!?)\]]+$/, '');
    row = /^\p{L}[\p{L}\p{N}'_./-]*$/u.test(word) ? [...row, word].slice(-length) : [];
    if (row.length === length) found.push(row.join(' '));
  }
  return found;
}

type Node = Record<string, unknown> & { type?: string };

/** Texts in quotes and regular expressions, but no titles of tests. */
export function literalsOf(code: string): Literal[] {
  const found: Literal[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) return value.forEach(visit);
    const node = value as Node;
    const text = textIn(node);
    if (text !== undefined) found.push({ text, line: code.slice(0, node['start'] as number).split('\n').length });
    const [title, ...rest] = (node['arguments'] ?? []) as unknown[];
    if (node.type !== 'CallExpression' || !isTest(node['callee'] as Node)) return Object.values(node).forEach(visit);
    visit(node['callee']);
    if (typeof title === 'object' && textIn(title as Node) === undefined) visit(title);
    visit(rest);
  };
  visit(parseAst(code, { lang: 'ts' }));
  return found;
}

function textIn(node: Node): string | undefined {
  if (node.type === 'TemplateLiteral')
    return (node['quasis'] as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join(' … ');
  if (node.type !== 'Literal') return undefined;
  if (typeof node['value'] === 'string') return node['value'];
  const { pattern } = (node['regex'] ?? {}) as { pattern?: string };
  return pattern?.replaceAll(/\\(.)/g, '$1').replaceAll(/[$^]/g, '');
}

/** `test('…')`, `describe.concurrent('…')`, `test.each(…)('…')`. */
function isTest(callee: Node): boolean {
  if (callee.type === 'Identifier') return ['test', 'it', 'describe'].includes(callee['name'] as string);
  if (callee.type === 'MemberExpression') return isTest(callee['object'] as Node);
  return callee.type === 'CallExpression' && isTest(callee['callee'] as Node);
}
