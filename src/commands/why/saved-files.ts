/** Files of `--policies`: what kubectl prints as JSON or YAML, and manifests as they are applied. */
import { readFileSync } from 'node:fs';
import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml';
import type { Json } from '../../platform/json.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { collectObjects, type Collector, type KnownObjects } from './known-objects.ts';
import { notesOn, problemsOf } from './policy-problems.ts';

/** Throws a `FileError` that names the file: a verdict from half of the objects would be a wrong one. `collector` may have objects already. */
export function readSavedFiles(
  files: readonly string[],
  collector: Collector = collectObjects(),
): KnownObjects & { notes: readonly string[] } {
  const { add, complete, endpoints, objects } = collector;
  const notes: string[] = [];
  for (const file of files) {
    const { content, documents } = documentsOf(file);
    const problems = problemsOf(file, content, documents);
    if (problems.length > 0) throw new FileError(problems);
    notes.push(...notesOn(file, documents));
    let used = 0;
    for (const document of documents) used += add(document);
    if (used === 0) throw new FileError(`${file}: has no Pod, Namespace, Node, Service or network policy`);
  }
  // Whether a list has all Pods, or all Nodes, is not in it; that there are any is taken for all.
  if (objects().pods.size > 0) complete('pods');
  if (objects().nodes.size > 0) complete('nodes');
  endpoints.completeIfAny();
  return { ...objects(), notes };
}

export class FileError extends Error {
  override name = 'FileError';
  /** Each is one line. */
  readonly problems: readonly string[];

  constructor(problems: string | readonly string[], options?: ErrorOptions) {
    const lines = typeof problems === 'string' ? [problems] : problems;
    super(lines.join('\n'), options);
    this.problems = lines;
  }
}

function documentsOf(file: string): { content: string; documents: Json[] } {
  let content: string;
  try {
    content = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new FileError(`${file}: cannot be read: ${reasonOf(error)}`, { cause: error });
  }
  if (content.includes('\0')) throw new FileError(`${file}: is no text in UTF-8: save it as UTF-8, unpacked`);
  if (content.trim() === '') throw new FileError(`${file}: is empty`);
  try {
    // Ten times as fast as YAML, of which it is a part.
    return { content, documents: [JSON.parse(content) as Json] };
  } catch {
    return { content, documents: yamlDocuments(file, content) };
  }
}

/** With merge keys (`<<`), as kubectl reads it. */
const schema = CORE_SCHEMA.withTags(mergeTag);

function yamlDocuments(file: string, content: string): Json[] {
  try {
    return loadAll(content, { schema, maxAliases: 100 });
  } catch (error) {
    throw new FileError(`${file}: is neither JSON nor YAML: ${(error as Error).message.split('\n', 1)[0]}`, {
      cause: error,
    });
  }
}
