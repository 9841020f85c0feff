import { parseAst } from 'vitest/node';

interface Literal {
  /** Each expression in it is written `…`. */
  text: string;
  line: number;
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
