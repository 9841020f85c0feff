/**
 * Ways to keep lines, made of structure alone: names, orders, depths and spellings are random, because no list of tools
 * has them all.
 */
import fc from 'fast-check';
import type { Wrapping } from './wrapping.ts';

const iso = (at: number): string => new Date(at).toISOString();

function lineWise(
  name: string,
  wrap: (line: string, at: number, number: number) => string,
  more: Partial<Wrapping> = {},
): Wrapping {
  return {
    name,
    isLine: true,
    wrap: (lines, at) => lines.map((line, i) => `${wrap(line, at, i + 7)}\n`).join(''),
    ...more,
  };
}

/** Names that do not suggest a writer, a host or a time. */
const anyName = fc.stringMatching(/^[bcfgjkqruvwxyz]{2,6}(?:[._-]?[1-9])?$/);
const timeName = fc.constantFrom('time', '@timestamp', 'ts', 'written_time', 'logStamp', 'eventDate');
const otherValue = fc.oneof(
  fc.integer({ min: 0, max: 99 }),
  fc.boolean(),
  fc.constant(null),
  fc.stringMatching(/^[a-z ]{0,12}$/),
  fc.constant({ q: [1, 'x'] }),
  fc.constant([]),
);

type Spelling = (value: unknown) => string;

const spellings: readonly Spelling[] = [
  (value) => JSON.stringify(value),
  (value) => JSON.stringify(value, undefined, 1).replaceAll(/\n\s*/g, ' '),
  (value) =>
    JSON.stringify(value).replaceAll(
      /[<>&=']|[^\x20-\x7e]/g,
      (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  (value) => JSON.stringify(value).replaceAll('/', String.raw`\/`),
];
const anySpelling = fc.constantFrom(...spellings);

interface ObjectShape {
  text: string;
  time: string | undefined;
  path: readonly string[];
  others: readonly (readonly [string, unknown])[];
  isTextFirst: boolean;
}

const anyShape: fc.Arbitrary<ObjectShape> = fc.record({
  text: anyName,
  time: fc.option(timeName, { nil: undefined }),
  path: fc.array(anyName, { maxLength: 3 }),
  others: fc.array(fc.tuple(anyName, otherValue), { maxLength: 3 }),
  isTextFirst: fc.boolean(),
});

function objectOf({ text, time, path, others, isTextFirst }: ObjectShape, line: string, at: number): object {
  const own: [string, unknown][] = [
    [text, line],
    ...(time === undefined ? [] : [[time, iso(at)] as [string, unknown]]),
  ];
  const rest = others
    .filter(([name]) => name !== text && name !== time)
    .map(([name, value]): [string, unknown] => [name, value]);
  const record: object = Object.fromEntries(isTextFirst ? [...own, ...rest] : [...rest, ...own]);
  return path.reduce((inner, name) => ({ [name]: inner }), record);
}

const anyObject = fc
  .tuple(anyShape, anySpelling)
  .map(([shape, spell]) => lineWise(`object ${JSON.stringify(shape)}`, (line, at) => spell(objectOf(shape, line, at))));

const escapedForPages = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[each] ?? '&#39;');

const pythonQuoted = (text: string): string => text.replaceAll(/[\\']/g, String.raw`\$&`);

/** Rows of tables, and texts in quotes or tags. */
const anyRow = fc.oneof(
  fc
    .tuple(fc.array(anyName, { minLength: 1, maxLength: 3 }), fc.array(anyName, { maxLength: 2 }))
    .map(([before, after]) =>
      lineWise(
        `a row ${before.join()} ${after.join()}`,
        (line, at) => `| ${[...before, iso(at), line, ...after].join(' | ')} |`,
      ),
    ),
  anyName.map((name) =>
    lineWise(`a text in single quotes ${name}`, (line) => `${name}: '${line.replaceAll("'", "''")}'`),
  ),
  anyName.map((name) => lineWise(`a text in single quotes of a list ${name}`, (line) => `$'${pythonQuoted(line)}'`)),
  fc
    .tuple(anyName, fc.constantFrom('=>', ' => ', '   => '))
    .map(([name, arrow]) =>
      lineWise(
        `a hash ${name}${arrow}`,
        (line, at) => `{"date"${arrow}"${iso(at)}", "${name}"${arrow}${JSON.stringify(line)}}`,
      ),
    ),
  fc.constant(lineWise('an item in quotes', (line) => `  - ${JSON.stringify(line)}`)),
  anyName.map((name) => lineWise(`a text in quotes ${name}`, (line) => `lvl=a ${name}=${JSON.stringify(line)} x=1`)),
  fc
    .tuple(anyName, anyName)
    .map(([outer, inner]) =>
      lineWise(
        `tags ${outer} ${inner}`,
        (line, at) => `<${outer} ${inner}="${iso(at)}"><${inner}>${escapedForPages(line)}</${inner}></${outer}>`,
      ),
    ),
);

/** The prefixes of shells and tools before each line. */
const anyHead = fc.oneof(
  fc
    .tuple(anyName, fc.constantFrom('.log', '.txt', '/out.jsonl'))
    .map(([name, end]) => lineWise(`a path ${name}${end}`, (line) => `/${name}${end}:${line}`)),
  fc
    .constantFrom('\t', '|', ': ')
    .map((mark) =>
      lineWise(
        `a number${mark}`,
        (line, _, number) => `${mark === ': ' ? `f.log:${number}:` : `  ${number}${mark}`}${line}`,
      ),
    ),
  fc.constantFrom('> ', '> > ').map((mark) => lineWise(`a quotation ${mark}`, (line) => `${mark}${line}`)),
  fc
    .constantFrom('* ', '- ', '\u2022 ')
    .map((mark) => lineWise(`a bullet ${mark}`, (line) => `${mark}${line}`, { needsStamp: true })),
  fc.constant(lineWise('an event of a stream', (line) => (line.startsWith('{') ? `data: ${line}` : line))),
  fc.constant(lineWise('an erased beginning', (line) => `section_start:1795226670:x\r\u001B[0K${line}`)),
  fc.constant(lineWise('colours', (line) => `\u001B[1;31mk.log\u001B[0m:\u001B[K${line}`)),
);

const anyLineWise = fc.oneof(
  { weight: 4, arbitrary: anyObject },
  { weight: 2, arbitrary: anyRow },
  { weight: 1, arbitrary: anyHead },
);

/**
 * At most this many wrappers within one another. Only the innermost has bars or single quotes, because those of outer
 * ones could not be told from its own. Nobody numbers lines that already have numbers, or searches in them.
 */
export const anyLayers = (maxLength: number): fc.Arbitrary<readonly Wrapping[]> =>
  fc.array(anyLineWise, { minLength: 1, maxLength }).map((all) =>
    all.filter((each, i) => {
      if (each.name.startsWith('a path') && all[i - 1]?.name.startsWith('a number') === true) return false;
      if (each.name.startsWith('a number')) return !all.slice(0, i).some(({ name }) => name.startsWith('a number'));
      return i === 0 || !/^a (?:row|text in single quotes)/.test(each.name);
    }),
  );

const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`;

const separated = fc.tuple(
  fc.constantFrom(',', ';'),
  fc.array(anyName, { maxLength: 2 }),
  fc.constantFrom('\n', '\r\n'),
);

/** Documents: a list of records printed over many lines, and tables with column names. */
export const anyDocument: fc.Arbitrary<Wrapping> = fc.oneof(
  fc
    .tuple(anyShape, fc.option(anyName, { nil: undefined }), fc.integer({ min: 1, max: 4 }))
    .map(([shape, name, indent]): Wrapping => ({
      name: `a document ${JSON.stringify(shape)} ${name}`,
      isLine: false,
      wrap(lines, at) {
        const records = lines.map((line) => objectOf(shape, line, at));
        return `${JSON.stringify(name === undefined ? records : { [name]: records, took: 3 }, undefined, indent)}\n`;
      },
    })),
  separated.map(([separator, others, end]): Wrapping => {
    return {
      name: `a table with ${separator}`,
      isLine: false,
      wrap: (lines, at) =>
        [
          ['time', ...others, 'line'].join(separator),
          ...lines.map((line) => [iso(at), ...others, cell(line)].join(separator)),
        ].join(end) + end,
    };
  }),
);
