/**
 * Checks the texts of sources, beside the rules of oxlint, and ends with 1 if something is wrong: a page may search the agent's log only for
 * words of src/, each command that a message advises needs a test that runs it, a room is
 * entered by its door, and what tests have in common has no hooks of its own.
 */
import { posix } from 'node:path';
import { floors } from '../../oxlint.config.ts';
import { documentPaths, filesBelow, textOf } from '../../test/docs/documents.ts';
import { unexpectedAdvice } from './advice.ts';
import { deadExports } from './exports.ts';

const wrong = [
  ...unknownSearches(),
  ...strayRightsFile(),
  ...unexpectedAdvice(),
  ...deadExports(),
  ...pastDoors(),
  ...hooksOfFirst(),
  ...inferredContracts(),
  ...doubledTypes(),
];
process.stderr.write(wrong.map((line) => `${line}\n`).join(''));
process.exitCode = wrong.length === 0 ? 0 : 1;

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

/** The file that grants the agent's rights is renamed in one place. */
function strayRightsFile(): string[] {
  return filesBelow('src', '.ts')
    .filter((file) => file !== 'src/agent/kubernetes/rights.ts' && /^(?!.*\/\*\*).*rbac\.yaml/m.test(textOf(file)))
    .map((file) => `${file} names rbac.yaml, which src/agent/kubernetes/rights.ts does for all`);
}

/** Unit tests of many files share a process, which loads a module once: its hooks and settings would be those of the first file. */
function hooksOfFirst(): string[] {
  const hook = /^(?:\S.* = )?(?:beforeAll|beforeEach|afterEach|afterAll|temporaryFolder|vi\.setConfig)\(/m;
  return filesBelow('test', '.ts')
    .filter((file) => !/\.test\.ts$|^test\/(?:e2e\/|setup\.ts$)/.test(file) && hook.test(textOf(file)))
    .map(
      (file) =>
        `${file} has a hook or setting outside of functions: only the first file of tests that loads it would have it`,
    );
}

/** "Go to definition" of an exported type ends at an interface that says what each member is, not at the code behind it. */
function inferredContracts(): string[] {
  return filesBelow('src', '.ts').flatMap((file) =>
    Array.from(
      textOf(file).matchAll(/^export type (\w+)[^;]*ReturnType<typeof [^;]*;/gm),
      ([, name]) => `${file} exports ${name}, which is inferred from a function: declare an interface`,
    ),
  );
}

/** A search for a type's name has one answer. */
function doubledTypes(): string[] {
  const declared = filesBelow('src', '.ts').flatMap((file) =>
    Array.from(textOf(file).matchAll(/^export (?:interface|type|class) (\w+)/gm), ([, name = '']) => ({ name, file })),
  );
  return [...Map.groupBy(declared, ({ name }) => name)]
    .filter(([, places]) => places.length > 1)
    .map(([name, places]) => `${places.map(({ file }) => file).join(' and ')} export a type ${name}: say which it is`);
}

/** Other folders import these by the file of the folder's own name alone: what is behind that door may change without anybody noticing. */
function pastDoors(): string[] {
  const folders = new Set([
    'agent',
    'audit',
    'directory',
    'drops',
    'events',
    'incidents',
    'kubernetes',
    'parsing',
    'pipeline',
    'policies',
    'report',
    'resolving',
    'series',
    'sources',
    'state',
  ]);
  // The doors load much that who enters here does without: `npx vitest run test/deploy/loaded-packages.test.ts` says what is loaded.
  const besides = new Set([
    'agent/cluster',
    'agent/open-sources',
    'agent/problems',
    'audit/fields',
    'events/event',
    'kubernetes/kubeconfig',
    'kubernetes/object-addresses',
    'kubernetes/policy-kinds',
    'kubernetes/item-scanner',
    'kubernetes/snapshot',
    'sources/reading',
  ]);
  return filesBelow('src', '.ts').flatMap((file) =>
    [...textOf(file).matchAll(/from '(\.[^']*)\.ts'/g)].flatMap(([, path = '']) => {
      const imported = posix.join(posix.dirname(file), path);
      const [room, name] = roomOf(imported);
      const isOther = folders.has(room) && roomOf(file)[0] !== room;
      return isOther && name !== room && !besides.has(`${room}/${name}`)
        ? [`${file} imports ${imported}.ts: import from the door, ${room}.ts`]
        : [];
    }),
  );
}

/** The room of a file of src/, and its path there without an ending. Some floors have files that stand in no room. */
function roomOf(path: string): [room: string, name: string] {
  const [, floor = '', ...names] = path.split('/');
  const isRoom = names.length > 1 && floors[floor]?.includes(names[0] ?? '') === true;
  return isRoom ? [names[0] ?? '', names.slice(1).join('/')] : [floor, names.join('/')];
}
