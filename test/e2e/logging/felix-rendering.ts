import { load } from 'js-yaml';
import { z } from 'zod';
import { readShipped } from './node-shell.ts';

const patch = z.object({
  spec: z.object({
    logPrefix: z.string(),
    logActionRateLimit: z.string().optional(),
    logActionRateLimitBurst: z.number().optional(),
  }),
});

export interface LoggedPolicy {
  /** The kind as Felix shortens it: `np`, `gnp`. */
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Reads what Felix makes of `action: Log`, with a FelixConfiguration that has a shipped patch (felix/rules/policy.go). */
export async function readFelixSettings(name: string) {
  const { spec } = patch.parse(load(await readShipped(`calico/${name}`)));
  const limit = spec.logActionRateLimit;
  const burst = spec.logActionRateLimitBurst;
  return {
    prefix: ({ kind, namespace, name: policy }: LoggedPolicy): string =>
      spec.logPrefix
        .replaceAll('%k', kind)
        .replaceAll('%p', namespace === undefined ? policy : `${namespace}/${policy}`),
    // The limit stands before what the rule matches.
    iptablesLimit: limit === undefined ? '' : `-m limit --limit ${limit} --limit-burst ${burst ?? 5}`,
    nftablesLimit: limit === undefined ? '' : `limit rate ${limit} burst ${burst ?? 5} packets`,
  };
}
