/** Removes prefixes that shells and tools put before each line: the name of a file, of a Pod, of a service. */
import { containerOfPath } from '../../../base/log-formats/container-log.ts';
import { copy } from '../../../base/platform/address.ts';
import type { StampClock } from './clock.ts';
import { type Envelope, takeOff } from './envelope.ts';
import type { KnownTexts } from './json-messages.ts';

/** The longest prefix: a path. */
const longest = 512;

/** Matches `grep -H` and `grep -Hn`, where the first word is a path (below). */
const file = /^(?!\/dev\/)([^\s:|"'{}=]{1,255}):(?:\d{1,9}:(?!\d\d:))?/;
/** A word with neither a slash nor an ending is not a path. */
const path = /\/|\.(?:log|txt|jsonl?|ndjson|out|err)(?:$|\.)/;
/** Matches the lines around a match (`grep -C`). */
const context = /^([^\s:|"'{}=]{0,256}\.(?:log|txt|jsonl?|ndjson|out|err)(?:\.\w{1,16})?)-\d{1,9}-/;
/** Matches `grep -n`, and an editor's numbers. */
const lineNumber = /^\d{1,9}(?::(?=\S)|[|\t](?=\s{0,8}\S))/;
/** Matches the numbers of `cat -n`, `less -N` and `grep -n`. */
const lineCount = /^(\d{1,9})([\t|:]| {1,2})/;
/** Matches `kubectl logs --prefix`. */
const kubectl = /^\[(?:pod|container)\/[^\]\s]{1,520}\] /;
/** Matches stern: a Pod and a container. */
const stern = /^[a-z0-9][a-z0-9.-]{0,252} [a-z0-9][a-z0-9-]{0,62} /;

/** Matches the beginnings of lines that no LOG prefix and no name contains. */
const beginning =
  /(?<=[\s:|\])>+-])(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} |\[ {0,8}\d{1,10}\.\d{6}\] |\d{1,3},\d{1,20},\d{1,20},[-c][;,]|<\d{1,3}>|\{ {0,4}"|\[ {0,4}\{|\[\[\d{10})/;
/** The text that may be before a line: three words without quotes. */
const words = /^(?:[\w./:@%+~,()[\]#>$|\x80-\xff-]{1,300}[ \t]+){0,3}[\w./:@%+~,()[\]#>$|\x80-\xff-]{0,300}$/;
/**
 * Matches the time and the author of a message in a chat (Teams, Telegram, WhatsApp, Discord, IRC): names have any number of words. The
 * bytes before `AM` are a narrow no-break space in UTF-8.
 */
const chat =
  /^\[?(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? )?\d{1,2}:\d\d(?::\d\d)?(?:(?: |\xe2\x80\xaf)?[AaPp][Mm])?(?:\] ?| )(?:- )?(?:<[^<>\s"'{}=]{1,64}>|[^\s:<>"'{}=][^:<>"'{}=]{0,80}:) $/;
/** Matches a collector's tag between its stamp and a record, which is never the kernel's. */
const tag = /^[\w./*@-]{1,256}:? (?=\{ {0,4}")/;

/** Removes the tag after the stamp of a collector that writes records as JSON (Fluentd). */
export function readRecordTag(envelope: Envelope): void {
  const isOfCollector = envelope.host === undefined || envelope.isHostOfCollector;
  const found = isOfCollector ? tag.exec(envelope.text) : null;
  if (found !== null) takeOff(envelope, found[0].length, 'prefix');
}

/** Removes a prefix. Lines without a stamp have the prefix of the last line with a stamp. */
export function readPrefix(envelope: Envelope, clock: StampClock, known: KnownTexts | undefined): void {
  const { text } = envelope;
  const { recent } = clock;
  if (recent.prefix !== '' && text.startsWith(recent.prefix)) return take(envelope, recent.prefix.length);
  const counted = recent.count.number > 0 ? lineCount.exec(text) : null;
  if (counted?.[2]?.startsWith(recent.count.separator) === true && Number(counted[1]) > recent.count.number)
    return takeNumber(counted[1] as string);
  if (recent.withoutPrefix !== '' && text.startsWith(recent.withoutPrefix)) return;
  const header = text.indexOf('IN=');
  const head = text.slice(0, header < 0 ? longest : Math.min(header, longest));
  const found = beginning.exec(head);
  if (found?.index === 0) return rememberNone();
  const before = found === null ? undefined : text.slice(0, found.index);
  if (before === undefined || !(words.test(before) || chat.test(before))) {
    const shell = context.exec(text) ?? fileOf(text) ?? lineNumber.exec(text) ?? kubectl.exec(text);
    if (shell === null) return rememberNone();
    remember(shell[0]);
    return take(envelope, shell[0].length);
  }
  // Some formats have a stamp after their first word.
  if (header < 0 && known?.reads(text) === true) return;
  remember(before);
  take(envelope, before.length);

  /** In a line with a header, only the text before the first blank decides whether it has a prefix. A flood repeats the same beginnings. */
  function rememberNone(): void {
    if (header > 0 && header < longest && text.charAt(header - 1) === ' ') recent.withoutPrefix = copy(head + 'IN=');
  }

  function remember(prefix: string): void {
    recent.prefix = /\d{1,9}[:-]$/.test(prefix) ? '' : prefix;
    const number = lineCount.exec(prefix);
    if (number?.[0] !== prefix) return;
    recent.prefix = '';
    recent.count = { number: Number(number[1]), separator: number[2] as string };
  }

  function takeNumber(number: string): void {
    recent.count.number = Number(number);
    take(envelope, number.length + recent.count.separator.length);
  }
}

function take(envelope: Envelope, length: number): void {
  const prefix = envelope.text.slice(0, length);
  takeOff(envelope, length, 'prefix');
  // The blanks before it do not belong to the text.
  envelope.indent = '';
  const name = fileOf(prefix)?.[1];
  const container = name === undefined ? undefined : containerOfPath(name);
  if (container !== undefined) {
    envelope.container = container;
    envelope.origin = 'userspace';
    envelope.program ??= container.container;
  } else if (envelope.origin === 'unknown' && (kubectl.test(prefix) || stern.test(prefix))) envelope.origin = 'pod';
}

function fileOf(text: string): RegExpExecArray | null {
  const found = file.exec(text);
  return found !== null && path.test(found[1] as string) ? found : null;
}
