/**
 * Decides whether an answer comes from the API server. Load balancers and proxies in its place answer with pages and statuses of their own,
 * which must not say that a Namespace is gone, that no policy exists, or that a right is missing.
 */
import type { Refusal } from '../../publish/events/events.ts';
import { at, type Json, list, parsed, text } from '../../base/platform/json.ts';
import { printable } from '../../base/platform/printable.ts';
import { retryAfterOf } from '../../base/platform/rates.ts';
import { type HttpAnswer, textOfBody } from './http.ts';

/** The longest message in characters, because webhooks and proxies may write any text. */
const longestMessage = 500;

/** Reasons of refusals that this program gives. No Status object of an API server has them. */
const [terminating, namespaceNotFound, strange] = ['NamespaceTerminating', 'NamespaceNotFound', 'NotFromAPIServer'];

/** Returns whether another program has answered in the API server's place. */
export function isStrange({ status, reason }: Pick<Refusal, 'status' | 'reason'>): boolean {
  return status === 0 && reason === strange;
}

/**
 * Believes a refusal only if it is a Status object with the status of the answer. Anything else counts as no answer (status 0), except
 * statuses after which a request is tried again anyway.
 *
 *     answer                                           counts as
 *     a Status object (`kind`, `status`, `code`)       what it says
 *     408, 429, 500 and above                          its status: the API server's filters, and proxies, write texts
 *     404 without a Status, but with an Audit-ID       404: the API server does not serve the path (its handler writes a text)
 *     of what the API server passes on (`/proxy/`)     its status, except 401 and 403
 *     every other                                      no answer
 */
export async function refusalIn(answer: HttpAnswer, path: string): Promise<Refusal> {
  const { status, headers } = answer;
  const whole = await textOfBody(answer);
  const body = parsed(whole);
  const said = messageIn(text(at(body, 'message')) ?? whole);
  const isStatus = statusCodeOf(body) === status;
  const isPassedOn = isProxied(path) && status !== 401 && status !== 403;
  const isUnserved = status === 404 && body === undefined && headers['audit-id'] !== undefined;
  const isTried = status === 408 || status === 429 || status >= 500;
  if (!isStatus && !isPassedOn && !isUnserved && !isTried) return strangeAnswer(status, whole);
  return {
    kind: 'refused',
    status,
    reason: isStatus ? reasonOf(body) : '',
    message: said || `HTTP status ${status}`,
    retryAfter: retryAfterOf(headers['retry-after']),
  };
}

/** Returns the code of a Status object that says why something failed; undefined for any other object. */
export function statusCodeOf(object: Json): number | undefined {
  const isFailure =
    at(object, 'kind') === 'Status' && at(object, 'apiVersion') === 'v1' && at(object, 'status') === 'Failure';
  const code = at(object, 'code');
  return isFailure && typeof code === 'number' ? code : undefined;
}

function reasonOf(status: Json): string {
  const reason = text(at(status, 'reason')) ?? '';
  if (list(at(status, 'details', 'causes')).some((cause) => at(cause, 'reason') === terminating)) return terminating;
  return reason === 'NotFound' && at(status, 'details', 'kind') === 'namespaces' ? namespaceNotFound : reason;
}

/** The request is tried again as without an answer, whatever its `Retry-After`. */
export function strangeAnswer(status: number, body: string): Refusal {
  const message = messageIn(`not an answer of the API server (HTTP status ${status}): ${body}`);
  return { kind: 'refused', status: 0, reason: strange, message, retryAfter: undefined };
}

function messageIn(said: string): string {
  return printable(said.slice(0, longestMessage));
}

/** Returns whether the body of an answer (2xx) is what the request asked for. `sent`: the body of the request. */
export function isAskedFor(verb: string, path: string, sent: Json, body: Json): boolean {
  if (isProxied(path)) return true;
  if (path === '/version') return text(at(body, 'gitVersion')) !== undefined;
  const kind = text(at(body, 'kind'));
  if (kind === undefined || kind === 'Status') return false;
  const resource = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?[^/]+(?:\/([^/]+))?/.exec(path);
  // The groups, versions and kinds that exist.
  if (resource === null) return kind.startsWith('API');
  const metadata = at(body, 'metadata');
  if (typeof metadata !== 'object' || metadata === null) return false;
  if (verb === 'POST')
    return isSameObject(kind, at(sent, 'kind')) && isSameObject(at(metadata, 'name'), at(sent, 'metadata', 'name'));
  const [, name] = resource;
  if (name !== undefined) return at(metadata, 'name') === decodeURIComponent(name);
  const items = at(body, 'items');
  return Array.isArray(items) || items === null;
}

function isSameObject(stored: Json, sent: Json): boolean {
  return sent === undefined || stored === sent;
}

function isProxied(path: string): boolean {
  return /^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/proxy\//.test(path);
}
