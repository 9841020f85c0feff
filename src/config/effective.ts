/** The output of `config print`. */
import { DEFAULT_SCALAR_STYLE_RULES, dump, type DumpOptions, SCALAR_STYLE } from 'js-yaml';
import { printable, printableJson } from '../platform/printable.ts';
import type { Given, Layer } from './layer.ts';
import { placeOf } from './origin.ts';
import { type SettingName, settingNames } from './settings.ts';

/** Text in several lines would leave no room for the comment. */
const style: DumpOptions = {
  lineWidth: -1,
  scalarStyleRules: [
    (layout) => {
      if (layout.node.value.includes('\n')) layout.style = SCALAR_STYLE.DOUBLE_QUOTED;
    },
    ...Object.values(DEFAULT_SCALAR_STYLE_RULES),
  ],
};

/** A config file with the same values, and behind each a comment that names where it is from. */
export function printYaml(given: Layer): string {
  return entriesOf(given)
    .map(([name, { value, origin }]) => {
      const text = dump({ [name]: value }, style);
      const end = text.indexOf('\n');
      return `${text.slice(0, end)}  # ${printable(placeOf(origin))}${text.slice(end)}`;
    })
    .join('');
}

/** `config` is a config file; `from` has the same keys. */
export function printJson(given: Layer, warnings: readonly string[]): string {
  const entries = entriesOf(given);
  const config = Object.fromEntries(entries.map(([name, { value }]) => [name, value]));
  const from = Object.fromEntries(entries.map(([name, { origin }]) => [name, placeOf(origin)]));
  return `${printableJson(JSON.stringify({ config, from, warnings }, undefined, 2))}\n`;
}

export function withoutDefaults(given: Layer): Layer {
  return Object.fromEntries(entriesOf(given).filter(([, { origin }]) => origin.kind !== 'default'));
}

function entriesOf(given: Layer): [SettingName, Given][] {
  return settingNames.flatMap((name): [SettingName, Given][] => {
    const found = given[name];
    return found === undefined ? [] : [[name, found]];
  });
}
