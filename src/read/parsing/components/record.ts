import type { Program, ProgramRecord } from '../../../base/model/program-record.ts';

export type Severity = ProgramRecord['severity'];

type RecordParts = Omit<ProgramRecord, 'kind' | 'fields' | 'error'>;

export function newRecord(parts: RecordParts, { values, error }: RecordFields): ProgramRecord {
  return { kind: 'program-record', ...parts, message: cut(parts.message, messageLimit), fields: values, error };
}

const errorKeys = new Set(['err', 'error', 'errorOutput', 'stderr']);
/** Keys whose values contain all rules of the node. They are not searched, because rules may contain the same words as errors. */
const dumpKeys = new Set(['rules', 'iptablesState']);

export function isErrorKey(key: string): boolean {
  return errorKeys.has(key);
}

export interface RecordFields {
  add(key: string, value: string): void;
  addError: (text: string) => void;
  readonly values: Readonly<Record<string, string>>;
  readonly error: string;
}

export function createFields(): RecordFields {
  const fields = new Map<string, string>();
  let error = '';

  return {
    add(key: string, value: string): void {
      if (errorKeys.has(key)) addError(value);
      if (dumpKeys.has(key) || (fields.size >= maxFields && !fields.has(key))) return;
      fields.set(key, cut(value, fieldLimit));
    },
    addError,
    get values(): Readonly<Record<string, string>> {
      return Object.fromEntries(fields);
    },
    get error() {
      return error;
    },
  };

  function addError(text: string): void {
    const more = text.trimEnd();
    if (more === '' || error.length >= errorLimit) return;
    error = cut(error === '' ? more : `${error}\n${more}`, errorLimit);
  }
}

const quote = 0x22;
const backslash = 0x5c;

/** Returns the position after the closing quote; -1 if the string is not closed. `at`: the position of the opening quote. */
export function endOfQuoted(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === backslash) i++;
    else if (code === quote) return i + 1;
  }
  return -1;
}

/** The longest escape is `\U0010ffff`. */
const longestEscape = 10;
const escapes = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{3})|([^]))/g;
const letters: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Decodes escapes of Go (strconv.Quote) and JSON, which are the same. An invalid escape loses its backslash. */
export function decodeQuoted(inner: string, limit: number): string {
  if (!inner.includes('\\')) return cut(inner, limit);
  const decoded = inner
    .slice(0, limit * longestEscape)
    .replace(escapes, (_, byte?: string, unit?: string, rune?: string, octal?: string, other = '') => {
      if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
      if (rune !== undefined) return ofRune(Number.parseInt(rune, 16));
      if (byte !== undefined) return ofByte(Number.parseInt(byte, 16));
      if (octal !== undefined) return ofByte(Number.parseInt(octal, 8));
      return letters[other] ?? other;
    });
  return cut(decoded, limit).toWellFormed();
}

function ofByte(byte: number): string {
  return byte < 0x80 ? String.fromCharCode(byte) : '\uFFFD';
}

function ofRune(rune: number): string {
  return rune <= 0x10ffff ? String.fromCodePoint(rune) : '\uFFFD';
}

/** Returns the position after the closing bracket of a group that opens at `at` with any bracket; -1 if it is not closed. */
export function endOfGroup(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    switch (text[i]) {
      case '"':
        i = endOfQuoted(text, i) - 1;
        if (i < 0) return -1;
        break;
      case '(':
      case '[':
      case '{':
        depth++;
        break;
      case ')':
      case ']':
      case '}':
        if (--depth <= 0) return i + 1;
        break;
      default:
    }
  }
  return -1;
}

/** The longest text that is read, in characters. Container logs and syslogs are cut there anyway. */
export const textLimit = 64 * 1024;
const fieldLimit = 4096;
export const errorLimit = 16 * 1024;
const maxFields = 32;
/** The longest message. A message is a sentence, so a longer one is a dump. */
export const messageLimit = 4096;

/** Cuts a text, but never inside a surrogate pair. */
function cut(text: string, limit: number): string {
  return text.length <= limit ? text : text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '');
}

/** The writer of a line, as a syslog or the journal names it; undefined without a name. */
export type Tag = string | undefined;

/** Match `kube-proxy[12085]: `, and below, names that are certain even without a number. */
const withNumber = /^([A-Za-z_][\w.+@/-]{0,255})\[\d{1,10}\]: ?/;
const withoutNumber = /^(kube-proxy|calico-node|calico-felix|felix|confd|kubelet): /;

/** Removes the program's name that a syslog writes before a message, and before each further line of it. */
export function takeTag(text: string): { tag: Tag; rest: string } {
  const found = withNumber.exec(text) ?? withoutNumber.exec(text);
  if (found === null) return { tag: undefined, rest: text };
  const [whole, tag] = found;
  return { tag, rest: text.slice(whole.length).replaceAll(`\n${whole}`, '\n') };
}

/** Files of kube-proxy that log [1.4 to 1.36: cmd/kube-proxy, pkg/proxy, pkg/util]. */
const kubeProxyFiles =
  /^(?:proxier|server|server_linux|server_others|server_iptables|cleanup|ipset|ipvs|conntrack|iptables|nftables|graceful_termination|netlink_linux|supported|proxier_health|service_health|healthcheck|endpointschangetracker|endpointslicecache|servicechangetracker|service|endpoints|topology|bounded_frequency_runner|config|run)\.go$/;

/** Files of kube-router's policies, which k3s runs in its own process [1.0 to 2.11: pkg/controllers/netpol]. */
const kubeRouterFiles = /^(?:network_policy_controller|npc_iptables|npc_nftables)\.go$/;

/** Without a tag, a record is kube-proxy's, unless its file is another program's. With another program's tag (`k3s`), the file decides. */
export function klogProgram(tag: Tag, caller: string): Program {
  if (caller.startsWith('kubelet')) return 'unknown';
  if (kubeRouterFiles.test(caller)) return 'kube-router';
  if (tag?.includes('kube-proxy') === true) return 'kube-proxy';
  // Every program that watches the API server has this file.
  if (tag === undefined) return caller === 'reflector.go' ? 'unknown' : 'kube-proxy';
  if (/^kube(?:let|-)/.test(tag)) return 'unknown';
  return kubeProxyFiles.test(caller) ? 'kube-proxy' : 'unknown';
}

export function mayBeCalico(tag: Tag): boolean {
  return tag === undefined || /calico|felix|confd|bird/.test(tag);
}

/** Returns the part of Calico that wrote a record. `felix/table.go` names it, but older releases name only the file. */
export function logrusProgram(tag: Tag, caller: string): Program {
  const namesPart = caller.includes('/') || caller.startsWith('calico.');
  // All parts write into the container's log, so the container's name does not tell the part.
  const part = namesPart ? caller : tag === undefined || tag === 'calico-node' ? '' : tag;
  if (part.includes('felix')) return 'felix';
  if (part.includes('confd')) return 'confd';
  if (part.includes('/') || part.startsWith('calico')) return 'calico-node';
  if (/^(?:startup|autodetection|allocateip|reconcile)/.test(caller)) return 'calico-node';
  return /^(?:resource|processor|watch|confd)\.go$/.test(caller) ? 'confd' : 'felix';
}
