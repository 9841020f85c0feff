import { configFile, settingNames, settingOf } from './settings.ts';
import type { Setting } from './types.ts';

const head = '| key in the file | variable | option | type | default | reloaded | |\n|---|---|---|---|---|---|---|';

/** A page with its table of settings brought up to date. */
export function withTable(page: string): string {
  return page.replace(/^\| key in the file \|.*(?:\n\|.*)*$/m, () => referenceTable());
}

/** The table of all settings, for docs/configuration.md. */
export function referenceTable(): string {
  return [head, ...settingNames.map((name) => row(`\`${name}\``, settingOf(name))), row('', configFile)].join('\n');
}

function row(key: string, setting: Setting): string {
  const { flag, env, value, help } = setting;
  const cells = [
    key,
    env === '' ? '' : `\`${env}\``,
    `\`--${flag} ${value}\``,
    typeOf(setting),
    setting.default ? `\`${setting.default}\`` : '',
    setting.reload ? 'yes' : '',
    help,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function typeOf({ type, list, choices }: Setting): string {
  if (choices !== undefined) return choices.map((choice) => `\`${choice}\``).join(', ');
  if (list !== undefined) return 'list of text';
  return type === 'number' ? 'whole number' : type === 'boolean' ? '`true`, `false`' : 'text';
}
