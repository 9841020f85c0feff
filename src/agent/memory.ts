/** The budget of memory of this process, and what is said when it is full. */
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
  /** `namespace`: the one that has the most of the memory. */
  leftOut: (resource: string, namespace: string) => void;
  /** Says which kinds have room again. */
  settleMemory: (accounts: Iterable<Pick<MemoryAccount, 'resource' | 'leftOut'>>) => void;
}

/** Says once of each kind that memory has no room for all of it. */
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

/** `part`: of the container's limit. Names of system Namespaces and of objects of the cluster stay longest. */
export function createMemory(
  part: number,
  { onLeftOut, now }: Pick<MemoryBudgetOptions, 'onLeftOut' | 'now'>,
): MemoryBudget {
  return createMemoryBudget({ total: memoryOfContainer(part), isPreferred, onLeftOut, now });
}

function isPreferred(namespace: string): boolean {
  return namespace === '' || systemNamespaces.has(namespace);
}
