import type { Config } from '../../../src/agent/config/config.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  others: Record<keyof Config, [flag: string | string[], env: string, expected: unknown]>;
};

/** A value of each setting that is not its default, by flag; what the environment has instead; and what either means. */
export const others: Record<keyof Config, [flag: string | string[], env: string, expected: unknown]> = tables.others;
