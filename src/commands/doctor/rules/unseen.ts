import type { Failure } from './read-rules.ts';

/** Of the kernel, and of iptables and nft, to those who are not root or lack CAP_NET_ADMIN. */
const refusal = /not permitted|permission denied|must be root/i;

/** Why the programs did not show all rules, each reason once. */
export function whyUnseen(failures: readonly Failure[]): string {
  if (failures.length === 0) return 'their programs are not here';
  if (failures.every(({ reason }) => refusal.test(reason))) return 'only root on the node may see them';
  const programs = Map.groupBy(failures, ({ reason }) => reason);
  return [...programs]
    .map(([reason, [first, ...more]]) => {
      const others = more.length === 0 ? '' : ` and ${more.length} more`;
      return `${first?.program}${others}: ${reason}`;
    })
    .join('; ');
}
