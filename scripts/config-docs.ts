// Describes the settings for the documents: scripts/update-config-docs.ts writes it, test/agent/config/documents.test.ts compares.
import * as z from 'zod/mini';
import { defaults } from '../src/agent/config/layer.ts';
import { configFile, schema, type SettingName, settingNames, settingOf } from '../src/agent/config/settings.ts';
import { logLevelChoices, type Setting, sinkForm } from '../src/agent/config/values.ts';
import { verdicts } from '../src/base/model/packet.ts';
import { listenForm } from '../src/base/platform/address.ts';

/** For editors: what a config file may hold (JSON Schema, draft 2020-12). */
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
          const values = formsOf(name, type === undefined ? rest : { type, ...rest });
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

/** Forms that `schema` understands, but its JSON Schema cannot say. */
function formsOf(name: SettingName, values: Record<string, unknown>): Record<string, unknown> {
  if (name === 'prefixes') return prefixForms(values);
  if (name === 'logLevel') return levelForms();
  const form = forms[name]?.source;
  if (form === undefined) return values;
  return 'items' in values ? { ...values, items: { type: 'string', pattern: form } } : { ...values, pattern: form };
}

/** What the program checks with code. A value that it refuses would stop the first tenth of a cluster's agents: an editor and Helm refuse it before. */
const forms: Partial<Record<SettingName, RegExp>> = {
  metricsAddress: listenForm,
  healthAddress: listenForm,
  dropsAddress: listenForm,
  containers: /^[^/]*[^/\s][^/]*\/[^/]*[^/\s][^/]*\/[^/]*[^/\s][^/]*$/,
  audit: sinkForm,
};

/** Editors offer what is in an `enum`. */
function levelForms(): Record<string, unknown> {
  const inAnyCase = logLevelChoices.map((level) =>
    level.replace(/./g, (letter) => `[${letter}${letter.toUpperCase()}]`),
  );
  return {
    anyOf: [
      { type: 'string', enum: [...logLevelChoices] },
      { type: 'string', pattern: `^(?:${inAnyCase.join('|')})$` },
    ],
  };
}

/** `NAME: VERDICT` as well as `- NAME=VERDICT` (file-layer.ts). */
function prefixForms(list: Record<string, unknown>): Record<string, unknown> {
  const map = {
    type: 'object',
    propertyNames: { pattern: '^$|\\S' },
    additionalProperties: { type: 'string', enum: [...verdicts] },
  };
  return { anyOf: [map, list] };
}

const head = '| key in the file | variable | option | default | |\n|---|---|---|---|---|';

/** A page with its table of settings brought up to date. */
export function withTable(page: string): string {
  return page.replace(/^\| key in the file \|.*(?:\n\|.*)*$/m, () => referenceTable());
}

/** The table of all settings, for docs/configuration.md. */
export function referenceTable(): string {
  return [head, ...settingNames.map((name) => row(`\`${name}\``, settingOf(name))), row('', configFile)].join('\n');
}

function row(key: string, setting: Omit<Setting, 'schema'>): string {
  const { flag, env, value, help } = setting;
  const cells = [
    key,
    env === '' ? '' : `\`${env}\``,
    `\`--${flag} ${value}\`${setting.list === undefined ? '' : ' …'}`,
    setting.default ? `\`${setting.default}\`` : '',
    setting.reload ? `${help}. **Reloaded**` : help,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
