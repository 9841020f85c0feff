/** Reads saved objects: output of kubectl, or manifests. Reports wrong fields by line, because a misspelt field would make the verdict wrong. */
import { readFileSync } from 'node:fs';
import { CORE_SCHEMA, type Event, EVENT_ID, getScalarValue, loadAll, mergeTag, parseEvents } from 'js-yaml';
import { startOf } from '../../agent/config/file-layer.ts';
import { lineAndColumn } from '../../agent/config/layer.ts';
import { isSlip, nearest, didYouMean } from '../../agent/config/suggest.ts';
import { clusterPolicyKinds, namespacedPolicyKinds } from '../../agent/kubernetes/policy-kinds.ts';
import { at, type Json, parsed, text } from '../../base/platform/json.ts';
import { reasonOf } from '../../base/platform/system-error.ts';
import { type FieldProblem, policyProblems, policyRefText, refOf } from '../../explain/policies/policies.ts';
import { collectObjects, type Collector, itemsOf, type KnownObjects, WhyError } from './known-objects.ts';

/** Throws a `WhyError` if a file is wrong, because a verdict on half of the objects may be wrong. `collector` may have objects already. */
export function readSavedFiles(
  files: readonly string[],
  collector: Collector = collectObjects(),
): KnownObjects & { notes: readonly string[] } {
  const { add, complete, endpoints, objects } = collector;
  const notes: string[] = [];
  for (const file of files) {
    const { content, documents } = documentsOf(file);
    const problems = problemsOf(file, content, documents);
    if (problems.length > 0) throw new WhyError(problems);
    notes.push(...notesOn(file, documents));
    let used = 0;
    for (const document of documents) used += add(document);
    if (used === 0) throw new WhyError(`${file}: has no Pod, Namespace, Node, Service or network policy`);
  }
  // A list does not say whether it is complete. It counts as complete if it has any Pod, or any Node.
  if (objects().pods.size > 0) complete('pods');
  if (objects().nodes.size > 0) complete('nodes');
  endpoints.completeIfAny();
  return { ...objects(), notes };
}

/** Reads a file of JSON, YAML, or JSON lines, as `jq -c` prints them. `-` is standard input. Throws a `WhyError`. */
function documentsOf(file: string): { content: string; documents: readonly Json[] } {
  let content: string;
  try {
    content = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isTooLarge = code === 'ERR_STRING_TOO_LONG' || code === 'ERR_FS_FILE_TOO_LARGE';
    const reason = isTooLarge ? 'has more than 512 MB: save one namespace at a time' : reasonOf(error);
    throw new WhyError(`${file}: cannot be read: ${reason}`, { cause: error });
  }
  return { content, documents: documentsIn(file, content) };
}

/** Reads the documents of a file from its content. Throws a `WhyError`. */
export function documentsIn(file: string, content: string): readonly Json[] {
  if (content.includes('\0')) throw new WhyError(`${file}: is not UTF-8 text: save it as UTF-8, unpacked`);
  if (content.trim() === '') throw new WhyError(`${file}: is empty`);
  // Try JSON first, because it is read ten times faster than YAML.
  let failure: Error;
  try {
    return [JSON.parse(content)];
  } catch (error) {
    failure = error as Error;
  }
  // A file with `---` is YAML, even if its documents are JSON.
  if (!/^---/m.test(content)) {
    const documents = jsonLines(file, content);
    if (documents !== undefined) return documents;
    // Maps of YAML may begin like JSON (`{apiVersion: v1}`), but hardly ever with a quoted key, so the error of JSON helps more.
    if (/^\s*(?:\{\s*"|\[)/.test(content)) throw jsonError(file, content, failure);
  }
  if (/^NAME(?:SPACE)? /.test(content)) throw new WhyError(`${file}: is the table that kubectl prints: use -o json`);
  // The user may name a large log by mistake, and parsing YAML is slow.
  if (!content.split('\n', 20).some((line) => /^ *(?:["']?(?:apiVersion|kind|items|metadata)\b|[-#{])/.test(line)))
    throw new WhyError(`${file}: is neither JSON nor YAML as kubectl prints it`);
  return yamlDocuments(file, content);
}

/** Reads the documents of a content that is YAML, because it stands before or after a line of dashes. Throws a `WhyError`. */
export function documentsOfYaml(file: string, content: string): readonly Json[] {
  const json = parsed(content);
  return json === undefined ? yamlDocuments(file, content) : [json];
}

function jsonLines(file: string, content: string): Json[] | undefined {
  // Parse the first line alone, because the user may name a large log by mistake.
  if (parsed(content.trimStart().split('\n', 1)[0] ?? '') === undefined) return undefined;
  return content.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const document = parsed(line);
    if (document === undefined) throw new WhyError(`${file}:${index + 1}: is not JSON`);
    return [document];
  });
}

/**
 * The message of JSON.parse has a position, or the text around an unexpected token; a cut text (`...`) begins ten characters before the
 * token. If the content ends too early, the message has neither.
 */
function jsonError(file: string, content: string, { message }: Error): WhyError {
  const position = / at position (\d+)/.exec(message)?.[1];
  const [, token = '', cut, around] = /^Unexpected token '(.)', (\.{3})?"(.*)"(?:\.{3})? is not/su.exec(message) ?? [];
  const ofToken = around === undefined ? content.length : content.indexOf(around) + (cut ? 10 : around.indexOf(token));
  const place = lineAndColumn(content, position === undefined ? ofToken : Number(position));
  const hint = message.includes('after JSON') ? '; it has several JSON texts: give each a file of its own' : '';
  return new WhyError(
    `${file}:${place}: is not JSON: ${message.replace(/(?: in JSON)? at position.*|, (?:\.{3})?".*/s, '')}${hint}`,
  );
}

/** Allows merge keys (`<<`), as kubectl does. */
const schema = CORE_SCHEMA.withTags(mergeTag);

function yamlDocuments(file: string, content: string): Json[] {
  try {
    return loadAll(content, { schema, maxAliases: 100 });
  } catch (error) {
    throw new WhyError(`${file}: is neither JSON nor YAML: ${(error as Error).message.split('\n', 1)[0]}`, {
      cause: error,
    });
  }
}

const most = 20;

/** The longest text in characters whose problems get a line. Finding the line takes ten times the memory of the text. */
const longestText = 32 * 1024 * 1024;

const knownKinds = [...clusterPolicyKinds, ...namespacedPolicyKinds];
const policyKinds = [...new Set(knownKinds.map(({ kind }) => kind))];

/** Returns a sentence for each problem: `policies.yaml:7:3: shop/web: spec.ingres: there is no such field; did you mean ingress?` */
function problemsOf(file: string, content: string, documents: readonly Json[]): string[] {
  const problems = documents.flatMap((document, index) =>
    itemsOf(document).flatMap(({ object, path }) =>
      [...kindProblems(object), ...problemsOfFields(object)].map((problem) => ({ problem, object, index, path })),
    ),
  );
  const events = problems.length > 0 && content.length <= longestText ? eventsOf(content) : [];
  const sentences = problems.slice(0, most).map(({ problem, object, index, path: from }) => {
    const { path, message, known } = problem;
    const offset = offsetOf(events, content, index, [...from, ...path]);
    const place = offset === undefined ? file : `${file}:${lineAndColumn(content, offset)}`;
    const field = path.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`)).join('');
    return `${place}: ${policyRefText(refOf(object)).trim()}: ${field.slice(1)}: ${message}${hintFor(path.at(-1) ?? '', known)}`;
  });
  return problems.length > most
    ? [...sentences, `${file}: ${problems.length - most} more fields are wrong`]
    : sentences;
}

/** `kubectl -n` may give a policy without a Namespace another one than `default`, which the files do not say. */
function notesOn(file: string, documents: readonly Json[]): string[] {
  return documents
    .flatMap((document) => itemsOf(document))
    .map(({ object }) => refOf(object))
    .filter(({ kind, namespace }) => namespace === undefined && /^(?:Staged(?:Kubernetes)?)?NetworkPolicy$/.test(kind))
    .map((ref) => `${file}: ${policyRefText(ref)} names no Namespace: taken for one of default`);
}

function hintFor(field: string, known: readonly string[]): string {
  return didYouMean(field, known) || (known.includes('matchLabels') ? '; labels stand in matchLabels' : '');
}

/**
 * An API server removes unknown fields. So an unknown field of a stored object (with a uid) belongs to a newer API, and is reported only if it
 * looks misspelt. The verdict is unknown where the field could matter.
 */
function problemsOfFields(object: Json): FieldProblem[] {
  const isStored = text(at(object, 'metadata', 'uid')) !== undefined;
  return policyProblems(object).filter(
    ({ path, known }) => !isStored || known.length === 0 || nearest(path.at(-1) ?? '', known) !== undefined,
  );
}

/** The name of an API group has a dot, except for Kubernetes' oldest groups. */
function kindProblems(object: Json): FieldProblem[] {
  const { apiVersion, kind } = refOf(object);
  const [group = ''] = apiVersion.split('/', 1);
  const isObject = at(object, 'metadata') !== undefined || at(object, 'spec') !== undefined;
  if (kind === '' && isObject) return [{ path: ['kind'], message: 'is missing', known: [] }];
  if (kind === 'NetworkPolicy' && !group.includes('.'))
    return [{ path: ['apiVersion'], message: 'must be networking.k8s.io/v1, or projectcalico.org/v3', known: [] }];
  const isTypo = !policyKinds.includes(kind) && policyKinds.some((each) => isSlip(kind, each));
  if (!isTypo || !knownKinds.some((each) => each.apiVersion.startsWith(`${group}/`))) return [];
  return [{ path: ['kind'], message: `there is no ${kind}${didYouMean(kind, policyKinds)}`, known: [] }];
}

function eventsOf(content: string): Event[] {
  try {
    return parseEvents(content, {});
  } catch {
    // JSON may have tabs, which YAML refuses.
    return [];
  }
}

/** Returns the offset of a list's item, or of a field's key; undefined if it is not known. Inside an alias, returns the alias's offset. */
function offsetOf(
  events: readonly Event[],
  content: string,
  document: number,
  path: readonly string[],
): number | undefined {
  let documents = -1;
  let index = events.findIndex(({ type }) => type === EVENT_ID.DOCUMENT && ++documents === document) + 1;
  let offset = index === 0 ? undefined : startOf(events[index], undefined);
  for (const key of path) {
    const isMap = events[index]?.type === EVENT_ID.MAPPING;
    if (index === 0 || (!isMap && events[index]?.type !== EVENT_ID.SEQUENCE)) return offset;
    const children = childrenOf(events, index);
    const isKey = (child: number, place: number): boolean => {
      const event = events[child];
      return place % 2 === 0 && event?.type === EVENT_ID.SCALAR && getScalarValue(content, event) === key;
    };
    const found = isMap ? children.findIndex(isKey) : Number(key);
    const child = children[found];
    if (child === undefined) return offset;
    offset = startOf(events[child], offset);
    index = children[isMap ? found + 1 : found] ?? 0;
  }
  return offset;
}

/** Returns the indexes of the items of a list, or of the keys and values of a map in turn. */
function childrenOf(events: readonly Event[], parent: number): number[] {
  const children: number[] = [];
  let depth = 0;
  for (let index = parent + 1; index < events.length && depth >= 0; index++) {
    const type = events[index]?.type;
    if (type === EVENT_ID.POP) depth--;
    else if (depth === 0) children.push(index);
    if (type === EVENT_ID.MAPPING || type === EVENT_ID.SEQUENCE) depth++;
  }
  return children;
}
