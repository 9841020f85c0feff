import * as z from 'zod/mini';
import { defaults } from './layer.ts';
import { schema } from './schema.ts';
import { settingNames, settingOf } from './settings.ts';
import { verdicts } from './types.ts';

/** For editors: what a file of settings may hold (JSON Schema, draft 2020-12). */
export function configJsonSchema(): Record<string, unknown> {
  const made = z.toJSONSchema(schema, { io: 'input' });
  const properties = made.properties ?? {};
  return {
    $schema: made.$schema,
    title: 'Settings of kube-netfilter-tailer',
    type: 'object',
    properties: {
      $schema: { type: 'string', description: 'where this schema is, for editors; it sets nothing' },
      ...Object.fromEntries(
        settingNames.map((name) => {
          const { type, ...rest } = properties[name] as Record<string, unknown>;
          const values = name === 'prefixes' ? prefixForms({ type, ...rest }) : { type, ...rest };
          const preset = defaults[name];
          return [
            name,
            { description: settingOf(name).help, ...values, ...(preset !== undefined && { default: preset.value }) },
          ];
        }),
      ),
    },
    additionalProperties: false,
  };
}

/** `NAME: VERDICT` as well as `- NAME=VERDICT` (file-layer.ts). */
function prefixForms(list: Record<string, unknown>): Record<string, unknown> {
  const map = {
    type: 'object',
    propertyNames: { pattern: '\\S' },
    additionalProperties: { type: 'string', enum: [...verdicts] },
  };
  return { anyOf: [map, list] };
}
