import { isIP } from 'node:net';

/** A request without a body, as its head says. Names of headers are in lower case. */
export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The name that was asked for, without the port; '' if the request has none. */
  readonly host: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly keepsAlive: boolean;
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Why a head is not answered as a request. */
export interface Refusal {
  readonly status: number;
  readonly text: string;
}

const mostHeaders = 100;

const token = "[!#$%&'*+.^_`|~\\w-]{1,256}";
const requestLine = new RegExp(`^(${token}) ([\\x21-\\x7e\\x80-\\xff]{1,4096}) HTTP/(1\\.[01])$`);
const header = new RegExp(`^(${token}):[ \\t]*(|[\\x21-\\x7e\\x80-\\xff](?:[\\t\\x20-\\x7e\\x80-\\xff]*))$`);

const malformed: Refusal = { status: 400, text: 'This is no HTTP/1.1 request.\n' };

/**
 * Reads a head, all before the blank line, as RFC 9112 has it. Nothing is repaired: what two programs might read in two ways is refused.
 */
export function readHead(head: string): Asked | Refusal {
  const [first = '', ...lines] = head.split('\r\n');
  const [, method = '', target = '', version] = requestLine.exec(first) ?? [];
  if (version === undefined || (method !== 'CONNECT' && !/^(?:\/|\*$|https?:\/\/)/i.test(target))) return malformed;
  if (lines.length > mostHeaders) return { status: 431, text: 'Too many headers.\n' };
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, given, value = ''] = header.exec(line) ?? [];
    if (given === undefined) return malformed;
    const name = given.toLowerCase();
    if (headers.has(name) && single.has(name)) return malformed;
    headers.set(name, value.trimEnd());
  }
  const [, authority, path] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target) ?? [];
  const given = authority ?? headers.get('host');
  if (!headers.has('host') && version === '1.1') return malformed;
  const host = hostOf(given ?? '');
  if (host === undefined) return malformed;
  if (headers.has('transfer-encoding') || !/^0*$/.test(headers.get('content-length') ?? ''))
    return { status: 413, text: 'A request has no body here.\n' };
  if (headers.has('expect')) return { status: 417, text: 'Nothing can be expected here.\n' };
  const keepsAlive = version === '1.1' && !/\bclose\b/i.test(headers.get('connection') ?? '');
  return { method, target: path === undefined ? target : path || '/', host, headers, keepsAlive };
}

/** Headers that change what a request is, or who is asked. */
const single = new Set(['host', 'content-length', 'transfer-encoding', 'authorization', 'expect', 'x-forwarded-uri']);

/** Returns the host of `HOST` or `HOST:PORT` in lower case, without brackets and a last dot; undefined if it is neither. */
function hostOf(authority: string): string | undefined {
  const [all, ipv6, name = ''] = /^(?:\[([\da-f:.%\w]{2,64})\]|([\w.-]{0,253}))(?::\d{0,5})?$/i.exec(authority) ?? [];
  return all === undefined ? undefined : (ipv6 ?? name).toLowerCase().replace(/\.$/, '');
}

/**
 * A page in a browser that has its own name lead here (DNS rebinding) sends that name. So a name is served only if nobody outside can own
 * it: an address, one label, a Service of a cluster, or one of `own`.
 */
export function isServedHost({ host, headers }: Asked, own: (host: string) => boolean): boolean {
  if (isIP(host.replace(/%.*/, '')) !== 0 || !host.includes('.') || own(host)) return true;
  if (/\.(?:localhost|svc|cluster\.local)$/.test(host)) return true;
  // The API server's proxy leaves the name by which it was asked itself. A page cannot leave out the browser's languages.
  const isProxied = headers.get('x-forwarded-uri')?.startsWith('/api/v1/namespaces/') === true;
  return isProxied && !['accept-language', 'origin', 'referer', 'cookie'].some((name) => headers.has(name));
}

export const unknownHost: Refusal = {
  status: 421,
  text: 'This name is not served: ask by address, by localhost, or by a name of the Pod, its Node or a Service (NAME.NAMESPACE.svc).\n',
};

export function isRefusal(asked: Asked | Refusal): asked is Refusal {
  return 'text' in asked;
}
