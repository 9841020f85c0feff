import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documentPaths, root, textOf } from './documents.ts';
import { readMarkdown } from './markdown.ts';

const documents = documentPaths();

describe.each(documents)('%s', (document) => {
  test('every block names its language', () => {
    const { blocks, indented } = readMarkdown(textOf(document));
    expect(blocks.filter(({ language }) => !/^[a-z]+$/.test(language)).map(({ line }) => line)).toEqual([]);
    expect(indented).toEqual([]);
  });

  test('every link has a target', () => {
    const targets = linksOf(textOf(document));
    const lost = targets.filter((target) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? document : normalize(join(dirname(document), path));
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && !anchorsOf(textOf(file)).includes(anchor);
    });
    expect(lost).toEqual([]);
  });
});

test('links are found', () => {
  expect(linksOf('[a](b.md) ![c](d.svg) [e](https://f) [g](#h)\n```\n[i](j)\n```\n`[k](l)`')).toEqual([
    'b.md',
    'd.svg',
    '#h',
  ]);
  expect(documents.flatMap((document) => linksOf(textOf(document))).length).toBeGreaterThan(200);
});

test('anchors equal those that GitHub makes', () => {
  expect(anchorsOf('# What `is` kept?\n## Twice\n## Twice\n```sh\n# no heading\n```')).toEqual([
    'what-is-kept',
    'twice',
    'twice-1',
  ]);
});

function prose(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```/gms, '');
}

function linksOf(text: string): string[] {
  return [
    ...prose(text)
      .replaceAll(/`[^`\n]*`(?!\])/g, '')
      .matchAll(/\]\(([^()\s]+)\)/g),
  ]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>();
  return [...prose(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  });
}

test.each(['CONTRIBUTING.md', 'docs/architecture.md'])(
  'each path of the repository that %s names exists',
  (document) => {
    const paths = readMarkdown(textOf(document)).spans.filter(({ text }) =>
      /^(?:src|test|scripts)\/[\w./-]+$/.test(text),
    );
    expect(paths.filter(({ text }) => !existsSync(join(root, text)))).toEqual([]);
  },
);
