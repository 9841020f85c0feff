/**
 * What `npm run lint` asks of the texts of sources, beside the rules of oxlint: each program that one starts has a row in
 * test/programs/table.ts, what a page searches the agent's log for stands in src/, tests that docs/reliability.md names are there, tests
 * repeat no wording, and a test runs each command that a message advises. Prints what is wrong, and ends with 1 then.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { documentPaths, filesBelow, root, textOf } from '../../test/docs/documents.ts';
import { functionsOf, startedBy } from '../../test/programs/started.ts';
import { knownPrograms } from '../../test/programs/table.ts';
import { unexpectedAdvice } from './advice.ts';
import { repeatedWording } from './wording.ts';

const wrong = [
  ...unknownPrograms(),
  ...unknownSearches(),
  ...lostTitles(),
  ...strayRightsFile(),
  ...unexpectedAdvice(),
  ...repeatedWording(),
];
process.stderr.write(wrong.map((line) => `${line}\n`).join(''));
process.exitCode = wrong.length === 0 ? 0 : 1;

function unknownPrograms(): string[] {
  // The programs of its examples are made up.
  const examples = 'test/programs/started.test.ts';
  const files = [
    '.ci/run',
    ...['deploy', 'samples', 'scripts', 'src', 'test'].flatMap((folder) =>
      ['.sh', '.ts', '.mjs'].flatMap((ending) => filesBelow(folder, ending)),
    ),
  ].filter((file) => file !== examples);
  // One script reads another with `.`.
  const functions = filesBelow('scripts', '.sh').flatMap((file) => functionsOf(textOf(file)));
  const known = new Set([...knownPrograms(), ...functions]);
  return files.flatMap((file) =>
    startedBy(join(root, file))
      .filter(({ program }) => !known.has(program))
      .map(({ program }) => `${file} starts ${program}, which has no row in test/programs/table.ts`),
  );
}

function unknownSearches(): string[] {
  const search = /kubectl -n (?:NAMESPACE|kube-netfilter-tailer) logs [^|`\n]*\| grep ([^|`\n]*)/g;
  const sources = filesBelow('src', '.ts').map(textOf).join('\n');
  return documentPaths().flatMap((document) =>
    Array.from(textOf(document).matchAll(search), ([, args = '']) => args).flatMap((args) => {
      const words = [...args.matchAll(/"([^"]+)"|(?<=^|\s)(?!-)(\S+)/g)].map(
        ([, quoted, word]) => quoted ?? word ?? '',
      );
      const flags = args.includes('-i') ? 'i' : '';
      // A word in capitals stands for what the reader puts in.
      return words
        .filter((word) => !/^[A-Z]+$/.test(word) && !new RegExp(word, flags).test(sources))
        .map((word) => `${document} searches the log of the agent for ${word}, which no source writes`);
    }),
  );
}

/** What a promise names is there: `[a.test.ts](a.test.ts) "a title", "another"`. */
function lostTitles(): string[] {
  const document = 'docs/reliability.md';
  return [...textOf(document).matchAll(/\]\(\.\.\/(test\/[\w/.-]+\.test\.ts)\)((?:,? "[^"]+")+)/g)].flatMap(
    ([, file = '', titles = '']) => {
      // That the file is there, test/docs holds.
      const text = existsSync(join(root, file)) ? textOf(file).replaceAll('\\', '') : '';
      return Array.from(titles.matchAll(/"([^"]+)"/g), ([, title = '']) => title)
        .filter((title) => !text.includes(title))
        .map((title) => `${document} names the test "${title}" of ${file}, which is not there`);
    },
  );
}

/** The file that grants the agent's rights is renamed in one place. */
function strayRightsFile(): string[] {
  return filesBelow('src', '.ts')
    .filter((file) => file !== 'src/kubernetes/rights-file.ts' && /^(?!.*\/\*\*).*rbac\.yaml/m.test(textOf(file)))
    .map((file) => `${file} names rbac.yaml, which src/kubernetes/rights-file.ts does for all`);
}
