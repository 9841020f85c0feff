import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** A request without a body. */
export interface RequestHead {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

export interface ServedAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Why a request is not answered. */
export interface HttpRefusal {
  readonly status: number;
  readonly text: string;
}

export const mostHeaders = 100;

export const malformed: HttpRefusal = { status: 400, text: 'This is not an HTTP/1.1 request.\n' };
export const tooLong: HttpRefusal = { status: 431, text: 'The head of this request is too long.\n' };

const unknownHost: HttpRefusal = {
  status: 421,
  text: 'This name is not served: ask by address, by localhost, or by a name of the Pod, its Node or a Service (NAME.NAMESPACE.svc).\n',
};

/** Returns the request, or why it is refused: a head that two programs might read differently, a body, a name that is not `own`. */
export function readRequest(request: IncomingMessage, own: (host: string) => boolean): RequestHead | HttpRefusal {
  const { method = '', url = '', headers, httpVersion, rawHeaders, headersDistinct } = request;
  const [, authority, path] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url) ?? [];
  const hosts = headersDistinct['host'] ?? [];
  const host = hostOf(authority ?? hosts[0] ?? '');
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion !== '1.0') || host === undefined) return malformed;
  if (rawHeaders.length > 2 * mostHeaders) return tooLong;
  if (headers['transfer-encoding'] !== undefined || !/^0*$/.test(headers['content-length'] ?? ''))
    return { status: 413, text: 'A request must not have a body here.\n' };
  if (headers.expect !== undefined) return { status: 417, text: 'Nothing can be expected here.\n' };
  if (!isServed(host, headers, own)) return unknownHost;
  return { method, target: path === undefined ? url : path || '/', headers };
}

/** Returns the host of `HOST` or `HOST:PORT` in lower case, without brackets and a last dot; undefined if it is neither. */
function hostOf(authority: string): string | undefined {
  const [all, ipv6, name = ''] = /^(?:\[([\da-f:.%\w]{2,64})\]|([\w.-]{0,253}))(?::\d{0,5})?$/i.exec(authority) ?? [];
  return all === undefined ? undefined : (ipv6 ?? name).toLowerCase().replace(/\.$/, '');
}

/**
 * A page in a browser that has its own name lead here (DNS rebinding) sends that name. So a name is served only if nobody outside can own
 * it: an address, one label, a Service of a cluster, or one of `own`.
 */
function isServed(host: string, headers: IncomingHttpHeaders, own: (host: string) => boolean): boolean {
  if (isIP(host.replace(/%.*/, '')) !== 0 || !host.includes('.') || own(host)) return true;
  if (/\.(?:localhost|svc|cluster\.local)$/.test(host)) return true;
  // The API server's proxy keeps the name by which it was itself asked. A page cannot omit the browser's languages.
  const isProxied = String(headers['x-forwarded-uri'] ?? '').startsWith('/api/v1/namespaces/');
  return isProxied && !['accept-language', 'origin', 'referer', 'cookie'].some((name) => name in headers);
}

export function isRefusal(asked: RequestHead | HttpRefusal): asked is HttpRefusal {
  return 'text' in asked;
}
