/** Variables whose names are nearly ones of this program. */
import { configFile, settingNames, settingOf } from './settings.ts';
import { isSlip } from './suggest.ts';

/** Of two words or more: a single one, such as SOURCE, may be anybody's. */
const variables = [configFile.env, ...settingNames.map((name) => settingOf(name).env)].filter((name) =>
  name.includes('_'),
);

/** An environment is full of other variables: a typo shows only by its likeness to one of ours that is not set. */
export function envTypos(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || !/^[A-Z_]+$/.test(name)) return [];
    const meant = variables.find((variable) => !env[variable] && isSlip(name, variable));
    return meant === undefined ? [] : [`${name}: there is no such variable; did you mean ${meant}?`];
  });
}
