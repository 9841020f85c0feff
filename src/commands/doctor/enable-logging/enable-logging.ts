/** `--enable-logging`: how dropped packets come to be logged in this cluster. */
import { documentAt } from '../../../config/docs-url.ts';
import { printable, printableJson } from '../../../platform/printable.ts';
import type { Api } from '../api.ts';
import { detectPlugIns, type Seen } from './detect.ts';
import type { Recipe } from './recipe.ts';
import { recipesFor } from './recipes.ts';

const verdicts: Readonly<Record<Recipe['works'], string>> = {
  switch: 'works after these steps',
  ready: 'works',
  no: 'does not work',
};

/** Prints how dropped packets come to be logged in this cluster, how to undo that, and what it costs. Applies nothing. 0 where there is a way. */
export async function enableLogging(
  api: Api,
  node: string,
  output: 'text' | 'json',
  out: (text: string) => void,
): Promise<0 | 1> {
  const seen = await detectPlugIns(api, node);
  const recipes = recipesFor(seen);
  const obstacles = api.unusable === undefined ? seen.obstacles : [api.unusable];
  if (output === 'json') {
    const plugIns = recipes.map((recipe) => ({ ...recipe, page: documentAt(recipe.page) }));
    out(`${printableJson(JSON.stringify({ enableLogging: { plugIns, obstacles } }, null, 2))}\n`);
  } else out(textOf(recipes, seen, obstacles));
  return recipes.some(({ works }) => works !== 'no') ? 0 : 1;
}

function textOf(recipes: readonly Recipe[], seen: Seen, obstacles: readonly string[]): string {
  const parts = recipes.map(recipeText);
  if (recipes.length === 0)
    parts.push(
      `No network plug-in was recognised${obstacles.length > 0 ? '' : ' by its Pods'}. ${documentAt('docs/logging.md')} says how to find it on a node, and how rules of your own log.\n`,
    );
  if (seen.plugIns.length > 1)
    parts.push('Several plug-ins were recognised: follow the one that enforces your policies.\n');
  if (obstacles.length > 0) parts.push(`Not all could be looked at: ${printable(obstacles.join('; '))}\n`);
  return `${parts.join('\n')}\nNothing was changed.\n`;
}

function recipeText({ name, works, why, before = [], manifest, commands = [], undo = [], cost, page }: Recipe): string {
  const file = manifest === undefined ? [] : ['', `${manifest.file}:`, '', ...manifest.text.trimEnd().split('\n')];
  return `${[
    `${name}: ${verdicts[works]}. ${upperFirst(why)}.`,
    ...section(works === 'no' ? 'Instead' : 'Before', before),
    ...file,
    ...section('Run', commands),
    ...section('Undo', undo),
    ...section('Cost', cost === undefined ? [] : [cost]),
    '',
    `More: ${documentAt(page)}`,
  ]
    .map(printable)
    .join('\n')}\n`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)];
}

function upperFirst(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
