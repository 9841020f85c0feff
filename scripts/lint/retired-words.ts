/** A plugin of oxlint: names, comments and titles of tests use the words of the field (words.ts). Other texts are free. */
import type { RuleTester } from 'oxlint/plugins-dev';
import { retiredWords } from './words.ts';

type Rule = Parameters<RuleTester['run']>[1];
type Visitor = ReturnType<NonNullable<Rule['create']>>;
type Context = Parameters<NonNullable<Rule['create']>>[0];
type Call = Parameters<NonNullable<Visitor['CallExpression']>>[0];
type Range = Call['range'];

const rules = retiredWords.map(({ pattern, say, namesOnly = false, except }) => {
  const all = except === undefined ? `\\b(${pattern})\\b` : `\\b(?:${except})\\b|\\b(${pattern})\\b`;
  return { find: new RegExp(all.replaceAll(' ', ' +'), 'g'), say, namesOnly };
});

const titled = new Set(['test', 'it', 'describe']);

export const rule: Rule = { create };

export default { meta: { name: 'words' }, rules: { retired: rule } };

function create(context: Context): Visitor {
  const { sourceCode } = context;
  const seen = new Set<string>();

  return {
    Program() {
      const file = context.filename.replace(/^.*\//, '');
      checkName(file.replace(/\.\w+$/, ''), [0, 0]);
      for (const { range } of sourceCode.getAllComments()) checkText(range);
    },
    Identifier: ({ name, range }) => checkName(name, range),
    CallExpression({ callee, arguments: [title] }) {
      if (title !== undefined && titled.has(rootOf(callee)) && /^(?:Literal|TemplateLiteral)$/.test(title.type))
        checkText([title.range[0] + 1, title.range[1] - 1]);
    },
  };

  /** Each name is reported once in a file. */
  function checkName(name: string, range: Range): void {
    if (seen.has(name)) return;
    seen.add(name);
    const words = name.replace(/([a-z\d])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])|[_$.-]+/g, '$1$2 ').toLowerCase();
    for (const { find, say } of rules)
      for (const [, word] of words.matchAll(find)) if (word !== undefined) report(word, say, name, range);
  }

  function checkText([start, end]: Range): void {
    const text = withoutQuotations(sourceCode.text.slice(start, end)).toLowerCase();
    for (const { find, say, namesOnly } of rules)
      for (const { 1: word, index } of namesOnly ? [] : text.matchAll(find))
        if (word !== undefined) report(word, say, undefined, [start + index, start + index + word.length]);
  }

  function report(word: string, say: string, name: string | undefined, [from, to]: Range): void {
    const where = name === undefined ? '' : ` in the name ${name}`;
    context.report({
      message: `"${word.replaceAll(/ +/g, ' ')}"${where} is a retired word; say: ${say} (scripts/lint/words.ts)`,
      loc: { start: sourceCode.getLocFromIndex(from), end: sourceCode.getLocFromIndex(to) },
    });
  }
}

/** `test` of `test.each(rows)(title, …)`. */
function rootOf(callee: Call['callee']): string {
  if (callee.type === 'CallExpression') return rootOf(callee.callee);
  if (callee.type === 'MemberExpression') return rootOf(callee.object);
  return callee.type === 'Identifier' ? callee.name : '';
}

/** Texts of others that a comment quotes become blanks, and so do ends of lines: every offset stays what it was. */
function withoutQuotations(text: string): string {
  return text
    .replace(/\n[\s*/]*/g, blank)
    .replace(/`[^`]* [^`]*`|(?<=\s)"[^"]* [^"]*"|https?:\/\/\S+/g, blank)
    .replace(/[.-](?=\w)/g, ' ');
}

function blank(text: string): string {
  return ' '.repeat(text.length);
}
