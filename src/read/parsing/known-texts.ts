/** Distinguishes lines of known formats from other texts, even within other text. */
import { isProgramRecord, parseDroppedLogs } from './components/program-record.ts';
import { formats, parse } from './formats.ts';
import { isGke, isHubble } from './policy-loggers/cilium.ts';
import { createPrefixTable } from './netfilter/prefixes.ts';

const prefixes = createPrefixTable();

const quote = String.raw`\\{0,15}(?:"|u0022|(?:&|u0026)(?:amp;){0,4}(?:quot|#34|#x22);)`;
/** The literals of all formats, however JSON and pages spell them: escaped once or several times, and with or without blanks. */
const mention = new RegExp(
  formats
    .flatMap(({ needles }) => needles)
    .map((needle) =>
      Array.from(needle, (character) => {
        if (character === '"') return quote;
        return character === ':' ? String.raw`\s{0,4}:\s{0,4}` : RegExp.escape(character);
      }).join(''),
    )
    .join('|'),
);
/** Each literal except `IN=` contains one of these: a cheap check skips the names and stamps of a record. */
const anyOfMention = new RegExp(
  [
    String.raw`[ "=(&]|u00`,
    ...formats
      .flatMap(({ needles }) => needles.filter((each) => !/[ "=(]/.test(each)))
      .map((each) => each.split(':')[0]),
  ].join('|'),
);
const escaped = /IN\\{1,7}u003[dD]|u0022/;
/** Match headers of loggers of Go and of bird, and messages that people quote without a header. */
const ofLoggers =
  /[IWEF]\d{4} \d\d:\d\d:\d\d\.|\bts\\{0,7}(?:"|&)|\] felix|level=|\d \[[A-Z]{4,8}\]\[|\.go \d{1,9}: |bird6?: /;
const ofQuoted = new RegExp(
  String.raw`${quote}\s?err(?:=|\\{1,15}u003[dD])|calico\\{0,7}/node is not ready|Failed to (?:execute ip(?:6|\(6\))?tables-restore|program (?:ip|nf)tables)|\(\*logrus\.Entry\)`,
);

export const knownTexts = {
  mentions(text: string): boolean {
    if (text.includes('IN=')) return true;
    if (!anyOfMention.test(text)) return false;
    return mention.test(text) || escaped.test(text) || ofLoggers.test(text) || ofQuoted.test(text);
  },
  isRecord: (record: object): boolean =>
    isHubble(record) || ('disposition' in record && isGke(record)) || 'oob.prefix' in record || 'oob.family' in record,
  reads(text: string): boolean {
    const found = parse(text, prefixes);
    // A text that is cut off may be a copy of a whole one.
    const isCut = found?.kind === 'unparsable' && text.startsWith('{');
    if (found !== undefined && found.kind !== 'refused' && !isCut) return true;
    return parseDroppedLogs(text, undefined) !== undefined || isProgramRecord(text);
  },
};

/**
 * Returns the literals as pages and JSON also spell them: with blanks after a colon, escaped in a string, and with `\u003d` for `=`. All are
 * found in one pass.
 */
export function spellingsOf(needles: readonly string[]): readonly string[] {
  return [...new Set(needles.flatMap(spellings))];
}

/** Literals of this length are searched all together, and shorter ones one by one. */
const longEnough = 8;

/** The literals within one to three levels of strings. */
const backslashes = ['\\', '\\\\', '\\\\\\\\'];

function spellings(needle: string): string[] {
  const key = /^"([^"]+)":?(.*)$/.exec(needle);
  if (key !== null) {
    const [, name = '', value = ''] = key;
    if (name.length >= longEnough) return [name];
    const opening = value.startsWith('"') ? value : value.slice(0, 1);
    const spaced = [`"${name}": ${opening}`, `"${name}" : ${opening}`, `"${name}":\t`, `"${name}": \t`];
    // Each level of strings doubles the backslashes, of which the last one is before the quote.
    const quoted = [
      `"${name}\\":`,
      `"${name}\\" :`,
      `"${name}\\\\\\`,
      `${name}\\u002`,
      `${name}\\\\u002`,
      `${name}\\\\\\\\`,
    ];
    const ofPages = ['', '\\', '\\\\', '\\\\\\'].flatMap((slashes) =>
      ['&quot;', '&#34;', '&amp;'].map((entity) => `${name}${slashes}${entity}`),
    );
    return [needle, ...spaced, ...quoted, ...ofPages];
  }
  if (needle.includes("'")) {
    const codes = backslashes.flatMap((slashes) => [`${slashes}u0027`, `${slashes}u0026#39;`]);
    return [
      "'",
      '&#39;',
      '&apos;',
      '&amp;#39;',
      "''",
      String.raw`\'`,
      String.raw`\\'`,
      String.raw`\u0027\u0027`,
      ...codes,
    ].map((each) => needle.replaceAll("'", each));
  }
  if (needle.includes('/')) return [needle, needle.replaceAll('/', String.raw`\/`)];
  if (!needle.includes('=')) return [needle];
  const codes = backslashes.flatMap((slashes) => [`${slashes}u003d`, `${slashes}u003D`]);
  return [needle, ...codes.map((code) => needle.replace('=', code))];
}
