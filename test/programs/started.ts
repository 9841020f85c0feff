import { readFileSync } from 'node:fs';
import { forEachChild, parse, type SyntaxNode } from 'unbash';
import { parseAst } from 'vitest/node';

/** A program that a source file starts by its name. */
export interface Start {
  readonly program: string;
  /** Path of the source file. */
  readonly file: string;
}

/** Matches a call that starts the program that its first argument names. */
const starters =
  /^(?:spawn|spawnSync|spawnProcess|execFile|execFileSync|execute|run|runIn|runOutside|start|promisify)$/;
const programName = /^[a-z][\w+-]*$/;
const absolutePath = /(?<![\w/.}])\/(?:usr\/)?s?bin\/([a-z][\w+.-]*)(?![\w$/-])/g;

/** Part of the shell itself, and the functions that shell scripts here take from each other. */
const builtins = new Set(
  '. : [ break cd command compgen continue declare echo eval exec exit export false kill local mapfile printf pwd read return set shift source test trap true type umask unset wait'.split(
    ' ',
  ),
);

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Names that stand literally in the TypeScript or JavaScript of `text`; shell scripts that it hands to a shell are read, too. */
export function startedByModule(file: string, text: string): Start[] {
  const programs = new Set<string>([...text.matchAll(absolutePath)].map(([, name = '']) => name));
  const add = (name: string | undefined): void => {
    if (name !== undefined && programName.test(name)) programs.add(name);
  };
  const nodes = [...nodesOf(parseAst(text, { lang: file.endsWith('.ts') ? 'ts' : 'js' }) as unknown as Node)];
  const constants = new Map(
    nodes.filter(({ type }) => type === 'VariableDeclarator').map(({ id, init }) => [(id as Node)['name'], init]),
  );
  const addScript = (node: unknown): void => {
    const { type, name } = (node ?? {}) as Node;
    const script = textOf(type === 'Identifier' ? constants.get(name) : node);
    if (script !== undefined) for (const { program } of startedByShell(file, script)) add(program);
  };
  for (const node of nodes) {
    if (node.type === 'CallExpression') {
      if (starters.test(calleeOf(node))) add(textOf((node['arguments'] as unknown[])[0]));
    } else if (node.type === 'ArrayExpression') {
      const elements = node['elements'] as unknown[];
      const texts = elements.map(textOf);
      for (const [index, each] of texts.entries()) {
        if (each === '--') add(texts[index + 1]);
        if (each === 'exec' && texts[index - 1] === 'netns') add(texts[index + 2]);
        if (each === '-c' && /^(?:ba)?sh$/.test(texts[index - 1] ?? 'sh')) addScript(elements[index + 1]);
      }
    } else if (node.type === 'TemplateLiteral' && /^#!\/bin\/(?:ba)?sh\n/.test(textOf(node) ?? '')) addScript(node);
  }
  return [...programs].map((program) => ({ program, file }));
}

/** Names of commands in a shell script that are neither its own functions nor part of the shell. */
export function startedByShell(file: string, script: string): Start[] {
  const programs = new Set<string>([...script.matchAll(absolutePath)].map(([, name = '']) => name));
  const functions = new Set(functionsOf(script));
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const words = node.suffix.flatMap((word) => (word.type === 'Word' ? [word.value] : []));
      const name = node.name?.value ?? '';
      const program = name === 'exec' || name === 'command' ? (words[0] ?? '') : name;
      if (programName.test(program)) programs.add(program);
    }
    forEachChild(node, visit);
  };
  visit(parse(script));
  return [...programs]
    .filter((name) => !builtins.has(name) && !functions.has(name))
    .map((program) => ({ program, file }));
}

/** Names of the functions that a shell script defines. */
export function functionsOf(script: string): string[] {
  const names: string[] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Function') names.push(node.name.text);
    forEachChild(node, visit);
  };
  visit(parse(script));
  return names;
}

export function startedBy(file: string): Start[] {
  const text = readFileSync(file, 'utf8');
  return /\.m?[jt]s$/.test(file) ? startedByModule(file, text) : startedByShell(file, text);
}

function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of Object.values(node).flat())
    if (typeof child === 'object' && child !== null && 'type' in child) yield* nodesOf(child as Node);
}

/** The last name of what is called; of `promisify(execFile)(…)` the inner one. */
function calleeOf({ callee }: Node): string {
  const { type, name, property, callee: inner } = callee as Node;
  if (type === 'CallExpression') return String((inner as Node)['name']);
  return String(type === 'MemberExpression' ? (property as Node)['name'] : name);
}

/** Returns the text of a literal; what a template fills in is a word. */
function textOf(node: unknown): string | undefined {
  const { type, value, quasis } = (node ?? {}) as Node;
  if (type === 'Literal' && typeof value === 'string') return value;
  if (type !== 'TemplateLiteral') return undefined;
  return (quasis as { value: { cooked: string } }[]).map((each) => each.value.cooked).join('FILLED');
}
