/** The memory budget of this process, and its reports when it is full. */
import { systemNamespaces } from '../base/model/endpoint.ts';
import {
  createMemoryBudget,
  type MemoryAccount,
  type MemoryBudget,
  type MemoryBudgetOptions,
  memoryOfContainer,
} from '../base/platform/memory-budget.ts';
import type { RateLimitedLog } from './telemetry/logger.ts';

export interface MemoryProblems {
  /** `namespace`: the one with most of the memory. */
  leftOut: (resource: string, namespace: string) => void;
  /** Reports the kinds that have room again. */
  settleMemory: (accounts: Iterable<Pick<MemoryAccount, 'resource' | 'leftOut'>>) => void;
}

/** Reports each kind once if memory has no room for all of it. */
export function createMemoryProblems({ report, resolve }: Pick<RateLimitedLog, 'report' | 'resolve'>): MemoryProblems {
  return {
    leftOut(resource, namespace) {
      const text = `Memory has no room for all ${resource}: those of the Namespace with the most are left out, and everything that depends on them is unknown`;
      report('warn', `left out ${resource}`, { resource, namespace }, text);
    },
    settleMemory(accounts) {
      for (const [resource, ofResource] of Map.groupBy(accounts, (account) => account.resource))
        if (ofResource.every(({ leftOut }) => leftOut === 0))
          resolve(`left out ${resource}`, `Memory has room for all ${resource} again`);
    },
  };
}

/** `part`: of the container's limit. Names of system Namespaces and cluster-wide objects stay longest. */
export function createMemory(
  part: number,
  { onLeftOut, now }: Pick<MemoryBudgetOptions, 'onLeftOut' | 'now'>,
): MemoryBudget {
  return createMemoryBudget({ total: memoryOfContainer(part), isPreferred, onLeftOut, now });
}

function isPreferred(namespace: string): boolean {
  return namespace === '' || systemNamespaces.has(namespace);
}
