/** Files of `--policies`: what kubectl prints as JSON or YAML, and manifests as they are applied. */
import { readFileSync } from 'node:fs';
import { CORE_SCHEMA, loadAll } from 'js-yaml';
import type { Json } from '../../platform/json.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { collectObjects, type KnownObjects } from './known-objects.ts';

/** Throws a `FileError` that names the file: a verdict from half of the objects would be a wrong one. */
export function readSavedFiles(files: readonly string[]): KnownObjects {
  const { add, complete, endpoints, objects } = collectObjects();
  for (const file of files) {
    let used = 0;
    for (const document of documentsOf(file)) used += add(document);
    if (used === 0) throw new FileError(`${file}: has no Pod, Namespace, Node, Service or network policy`);
  }
  // Whether a list has all Pods, or all Nodes, is not in it; that there are any is taken for all.
  if (objects().pods.size > 0) complete('pods');
  if (objects().nodes.size > 0) complete('nodes');
  endpoints.completeIfAny();
  return objects();
}

export class FileError extends Error {
  override name = 'FileError';
}

function documentsOf(file: string): Json[] {
  let content: string;
  try {
    content = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new FileError(`${file}: cannot be read: ${reasonOf(error)}`, { cause: error });
  }
  try {
    // Ten times as fast as YAML, of which it is a part.
    return [JSON.parse(content) as Json];
  } catch {
    return yamlDocuments(file, content);
  }
}

function yamlDocuments(file: string, content: string): Json[] {
  try {
    return loadAll(content, { schema: CORE_SCHEMA, maxAliases: 100 });
  } catch (error) {
    throw new FileError(`${file}: is neither JSON nor YAML: ${(error as Error).message.split('\n', 1)[0]}`, {
      cause: error,
    });
  }
}
