import type { Connection } from './control-plane/connection.ts';

/** Every field of a kind as the API server's own OpenAPI describes it, each in a change that sets it. */

interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly oneOf?: readonly Schema[];
}

type Fields = Readonly<Record<string, unknown>>;

export interface FieldChange {
  /** For example `status.daemonEndpoints.kubeletEndpoint.Port`; items of lists have no index. */
  readonly path: string;
  /** A merge patch that sets this field, and the other fields that it requires. */
  readonly patch: Fields;
}

/** Resolves to a change of each field of a kind of core/v1, including those within lists and maps. */
export async function fieldChanges({ request }: Pick<Connection, 'request'>, kind: string): Promise<FieldChange[]> {
  const { body } = await request('GET', '/openapi/v3/api/v1');
  const { schemas } = (body as { components: { schemas: Readonly<Record<string, Schema>> } }).components;

  return changesOf({ $ref: `#/components/schemas/io.k8s.api.core.v1.${kind}` }, '').map(([path, value]) => ({
    path: path.slice(1),
    patch: value as Fields,
  }));

  function resolved(schema: Schema): Schema {
    const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
    return ref === undefined ? schema : (schemas[ref.split('/').at(-1) ?? ''] ?? {});
  }

  function changesOf(given: Schema, path: string): [string, unknown][] {
    const { properties, items, additionalProperties, required = [] } = resolved(given);
    if (properties !== undefined)
      return Object.entries(properties).flatMap(([key, schema]) =>
        changesOf(schema, `${path}.${key}`).map(([at, value]): [string, unknown] => {
          const needed = required.filter((name) => name !== key).map((name) => [name, valueOf(properties[name] ?? {})]);
          // At the top of an existing object, the required fields are already set.
          return [at, { ...(path === '' ? {} : Object.fromEntries(needed)), [key]: value }];
        }),
      );
    if (items !== undefined) return changesOf(items, path).map(([at, value]) => [at, [value]]);
    if (additionalProperties !== undefined)
      return changesOf(additionalProperties, path).map(([at, value]) => [at, { 'example.org/x': value }]);
    return [[path, valueOf(given)]];
  }

  function valueOf(given: Schema): unknown {
    const { type, format, properties, items, additionalProperties, oneOf, required = [] } = resolved(given);
    if (properties !== undefined)
      return Object.fromEntries(required.map((key) => [key, valueOf(properties[key] ?? {})]));
    if (items !== undefined) return [valueOf(items)];
    if (additionalProperties !== undefined) return {};
    if (format === 'date-time') return '2026-01-02T03:04:05Z';
    if (oneOf !== undefined) return '7';
    if (type === 'integer' || type === 'number') return 7;
    if (type === 'boolean') return true;
    return type === 'object' ? {} : 'x';
  }
}

/** Merges as a JSON merge patch does. */
export function merged(object: unknown, patch: unknown): unknown {
  if (!isMap(object) || !isMap(patch)) return patch;
  const result: Record<string, unknown> = { ...object };
  for (const [key, value] of Object.entries(patch)) result[key] = merged(result[key], value);
  return result;
}

/** Returns the paths of all fields in which two objects differ; items of lists have no index. */
export function differences(left: unknown, right: unknown, path = ''): string[] {
  if (JSON.stringify(left) === JSON.stringify(right)) return [];
  const [one, other] = [left ?? {}, right ?? {}];
  if (!isMap(one) || !isMap(other)) return [path.slice(1)];
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return keys.flatMap((key) => differences(one[key], other[key], `${path}.${key}`));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
