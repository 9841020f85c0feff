/** Reads the files of `--policies`: what kubectl prints, and manifests as they are applied. Finds what is wrong in them, by line: a field with a typo would be left out, and the verdict would be wrong. */
import { readFileSync } from 'node:fs';
import {
  CORE_SCHEMA,
  type Event,
  EVENT_ID,
  getScalarValue,
  loadAll,
  mergeTag,
  parseEvents,
  SCALAR_STYLE,
} from 'js-yaml';
import { lineAndColumn } from '../../config/origin.ts';
import { isSlip, nearest, suggest } from '../../config/suggest.ts';
import { at, type Json, text } from '../../platform/json.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { type FieldProblem, policyProblems, policyText, refOf } from '../../policies/policies.ts';
import { collectObjects, type Collector, itemsOf, type KnownObjects, WhyError } from './known-objects.ts';

/** Throws a `WhyError` that names the file: a verdict from half of the objects would be a wrong one. `collector` may have objects already. */
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
  // Whether a list has all Pods, or all Nodes, is not in it; that there are any is taken for all.
  if (objects().pods.size > 0) complete('pods');
  if (objects().nodes.size > 0) complete('nodes');
  endpoints.completeIfAny();
  return { ...objects(), notes };
}

function documentsOf(file: string): { content: string; documents: Json[] } {
  let content: string;
  try {
    content = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new WhyError(`${file}: cannot be read: ${reasonOf(error)}`, { cause: error });
  }
  if (content.includes('\0')) throw new WhyError(`${file}: is no text in UTF-8: save it as UTF-8, unpacked`);
  if (content.trim() === '') throw new WhyError(`${file}: is empty`);
  try {
    // JSON is read ten times as fast as YAML.
    return { content, documents: [JSON.parse(content) as Json] };
  } catch {
    return { content, documents: yamlDocuments(file, content) };
  }
}

/** kubectl reads merge keys (`<<`), too. */
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

/** Reading a text again for its lines takes as much memory as ten of it. */
const longestText = 32 * 1024 * 1024;

const policyApis: ReadonlySet<string> = new Set([
  'networking.k8s.io',
  'policy.networking.k8s.io',
  'projectcalico.org',
  'crd.projectcalico.org',
]);
const policyKinds = ['NetworkPolicy', 'ClusterNetworkPolicy', 'AdminNetworkPolicy', 'GlobalNetworkPolicy'];

/** A sentence for each: `policies.yaml:7:3: shop/web: spec.ingres: there is no such field; did you mean ingress?` */
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
    return `${place}: ${policyText(refOf(object)).trim()}: ${field.slice(1)}: ${message}${hintFor(path.at(-1) ?? '', known)}`;
  });
  return problems.length > most
    ? [...sentences, `${file}: ${problems.length - most} more fields are wrong`]
    : sentences;
}

/** A policy without a Namespace is of the one that kubectl is asked for (-n), which no file names. */
function notesOn(file: string, documents: readonly Json[]): string[] {
  return documents
    .flatMap((document) => itemsOf(document))
    .map(({ object }) => refOf(object))
    .filter(({ kind, namespace }) => namespace === undefined && /^(?:Staged(?:Kubernetes)?)?NetworkPolicy$/.test(kind))
    .map((ref) => `${file}: ${policyText(ref)} names no Namespace: taken for one of default`);
}

function hintFor(field: string, known: readonly string[]): string {
  return suggest(field, known) || (known.includes('matchLabels') ? '; labels stand in matchLabels' : '');
}

/**
 * An API server has taken the object (it has a uid), and leaves no unknown field in it: there only a slip of a known one is wrong, made since
 * then. Any other is of a newer API, and the verdict is unknown where the field could matter.
 */
function problemsOfFields(object: Json): FieldProblem[] {
  const isTaken = text(at(object, 'metadata', 'uid')) !== undefined;
  return policyProblems(object).filter(
    ({ path, known }) => !isTaken || known.length === 0 || nearest(path.at(-1) ?? '', known) !== undefined,
  );
}

/** Groups of all APIs but the first of Kubernetes have a dot. */
function kindProblems(object: Json): FieldProblem[] {
  const { apiVersion, kind } = refOf(object);
  const [group = ''] = apiVersion.split('/', 1);
  const isObject = at(object, 'metadata') !== undefined || at(object, 'spec') !== undefined;
  if (kind === '' && isObject) return [{ path: ['kind'], message: 'is missing', known: [] }];
  if (kind === 'NetworkPolicy' && !group.includes('.'))
    return [{ path: ['apiVersion'], message: 'must be networking.k8s.io/v1, or projectcalico.org/v3', known: [] }];
  const isTypo = !policyKinds.includes(kind) && policyKinds.some((each) => isSlip(kind, each));
  if (!isTypo || !policyApis.has(group)) return [];
  return [{ path: ['kind'], message: `there is no ${kind}${suggest(kind, policyKinds)}`, known: [] }];
}

function eventsOf(content: string): Event[] {
  try {
    return parseEvents(content, {});
  } catch {
    // JSON may have tabs, which YAML refuses.
    return [];
  }
}

/** Where a value stands, or for a field its key; of what is behind an alias, where the alias is. Undefined: not known. */
function offsetOf(
  events: readonly Event[],
  content: string,
  document: number,
  path: readonly string[],
): number | undefined {
  let next = -1;
  for (let index = 0; index <= document; index++) {
    next = events.findIndex((event, place) => place > next && event.type === EVENT_ID.DOCUMENT);
    if (next < 0) return undefined;
  }
  next++;
  const root = events[next];
  let offset = root === undefined ? undefined : startOf(root);
  for (const key of path) {
    const parent = events[next++];
    if (parent?.type !== EVENT_ID.MAPPING && parent?.type !== EVENT_ID.SEQUENCE) return offset;
    for (let item = 0; ; item++) {
      const event = events[next];
      if (event === undefined || event.type === EVENT_ID.POP) return offset;
      const isKey = parent.type === EVENT_ID.MAPPING;
      const isFound = isKey
        ? event.type === EVENT_ID.SCALAR && getScalarValue(content, event) === key
        : String(item) === key;
      if (isFound || isKey) next = isKey ? next + 1 : next;
      if (isFound) {
        offset = startOf(event) ?? offset;
        break;
      }
      next = endOf(events, next);
    }
  }
  return offset;
}

function startOf(event: Event): number | undefined {
  const start = event.type === EVENT_ID.SCALAR ? event.valueStart : 'start' in event ? event.start : -1;
  if (start < 0) return undefined;
  const isQuoted =
    event.type === EVENT_ID.SCALAR &&
    (event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED);
  return isQuoted ? start - 1 : start;
}

function endOf(events: readonly Event[], first: number): number {
  let depth = 0;
  for (let place = first; place < events.length; place++) {
    const type = events[place]?.type;
    if (type === EVENT_ID.MAPPING || type === EVENT_ID.SEQUENCE) depth++;
    else if (type === EVENT_ID.POP) depth--;
    if (depth === 0) return place + 1;
  }
  return events.length;
}
