import { readFileSync } from 'node:fs';
import { forEachChild, parse, type SyntaxNode } from 'unbash';

/** Part of the shell itself, and the functions that shell scripts here take from each other. */
const builtins = new Set(
  '. : [ break cd command compgen complete continue declare echo eval exec exit export false kill local mapfile printf pwd read return set shift source test trap true type umask unset wait'.split(
    ' ',
  ),
);
const programName = /^[a-z][\w+-]*$/;
const absolutePath = /(?<![\w/.}])\/(?:usr\/)?s?bin\/([a-z][\w+.-]*)(?![\w$/-])/g;
/** In TypeScript: what is called with a program as its first argument, or has one after `--` or `netns exec NAME`. The formatter writes `'`. */
const starters = [
  /\b(?:spawn|spawnSync|spawnProcess|execFile|execFileSync|execute|run|runIn|runOutside|start|promisify\(\w+\))\(\s*'([^'\n]*)'/g,
  /'--',\s*'([^'\n]*)'/g,
  /'netns',\s*'exec',\s*[^,]+,\s*'([^'\n]*)'/g,
];
const text = /'((?:\\.|[^'\\])*)'|`((?:\\.|[^\\`])*)`/.source;
/** Shell scripts in it: after `-c`, or the constant that is named there, and texts that begin as a script does. */
const scripts = new RegExp(`'-c',\\s*(?:${text}|(\\w+))|\`(#!/bin/(?:ba)?sh\\n(?:\\\\.|[^\\\\\`])*)\``, 'gs');

/** Names of programs that stand literally in a source. */
export function startedBy(file: string, source = readFileSync(file, 'utf8')): readonly string[] {
  if (!/\.m?[jt]s$/.test(file)) return startedByShell(source);
  const found = (pattern: RegExp): string[] => Array.from(source.matchAll(pattern), ([, name = '']) => name);
  const shells = Array.from(source.matchAll(scripts), ([, quoted, template, name, whole]) => {
    const constant = new RegExp(`\\b${name}(?:: \\w+)? =\\s*(?:${text})`, 's');
    return quoted ?? template ?? whole ?? constant.exec(source)?.slice(1).join('') ?? '';
  });
  const inShells = shells.flatMap((script) =>
    startedByShell(script.replaceAll(/\$\{[^}]*\}/g, 'FILLED').replaceAll('\\n', '\n')),
  );
  return [
    ...new Set([
      ...found(absolutePath),
      ...starters.flatMap(found).filter((name) => programName.test(name)),
      ...inShells,
    ]),
  ];
}

/** Names of commands in a shell script that are neither its own functions nor part of the shell. */
export function startedByShell(script: string): readonly string[] {
  const programs = new Set<string>([...script.matchAll(absolutePath)].map(([, name = '']) => name));
  visit(parse(script), (node) => {
    if (node.type !== 'Command') return;
    const words = node.suffix.flatMap((word) => (word.type === 'Word' ? [word.value] : []));
    const name = node.name?.value ?? '';
    const program = name === 'exec' || name === 'command' ? (words[0] ?? '') : name;
    if (programName.test(program)) programs.add(program);
  });
  const functions = new Set(functionsOf(script));
  return [...programs].filter((name) => !builtins.has(name) && !functions.has(name));
}

/** Names of the functions that a shell script defines. */
export function functionsOf(script: string): readonly string[] {
  const names: string[] = [];
  visit(parse(script), (node) => {
    if (node.type === 'Function') names.push(node.name.text);
  });
  return names;
}

function visit(node: SyntaxNode, look: (node: SyntaxNode) => void): void {
  look(node);
  forEachChild(node, (child) => visit(child, look));
}
