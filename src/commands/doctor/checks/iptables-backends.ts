import { documentAt } from '../../../config/docs-url.ts';
import { answersOf, type Check } from '../check.ts';
import type { NetworkView } from '../network-view.ts';
import type { Rules } from '../rules/read-rules.ts';
import { whyUnseen } from '../rules/unseen.ts';

const page = documentAt('docs/causes/KN110-mixed-iptables-backends.md');

/** Whether both backends of iptables have rules: the kernel asks both, and the programs of each see only their own. */
export function checkIptablesBackends({ sets, saw, failures }: Rules, view: NetworkView): Check {
  const { ok, problem, unknown, warning } = answersOf('iptables-backends');
  const byHand = 'run on the node as root: iptables-legacy-save | grep -c ^-A; iptables-nft-save | grep -c ^-A';
  if (view === 'pod') return unknown("not to be seen from a Pod without the node's network", byHand);
  const look = (backend: 'legacy' | 'nft') => {
    const own = sets.filter((set) => set.backend === backend);
    return {
      rules: own.reduce((sum, { rules }) => sum + rules, 0),
      hasClusterChains: own.some((set) => set.hasClusterChains),
      isKnown: own.length > 0 || (backend === 'legacy' && saw.legacy),
    };
  };
  const [legacy, nft] = [look('legacy'), look('nft')];
  const counts = `legacy has ${plural(legacy.rules)}, nft ${plural(nft.rules)}`;
  if (legacy.rules > 0 && nft.rules > 0) {
    if (legacy.hasClusterChains && nft.hasClusterChains)
      return problem(
        `${counts}, and kube-proxy or Calico are in both`,
        `let kube-proxy, Calico and the node use the same one: ${page}`,
      );
    return warning(counts, `a packet passes both; if it should not be so: ${page}`);
  }
  if (!legacy.isKnown || !nft.isKnown)
    return unknown(
      `the rules of ${legacy.isKnown ? 'nft' : nft.isKnown ? 'legacy' : 'both backends'} cannot be seen (${whyUnseen(failures.filter(({ program }) => program !== 'nft'))})`,
      byHand,
    );
  if (legacy.rules + nft.rules === 0) return ok('no rules of iptables');
  return ok(`only ${legacy.rules > 0 ? `legacy (${plural(legacy.rules)})` : `nft (${plural(nft.rules)})`}`);
}

function plural(rules: number): string {
  return `${rules} ${rules === 1 ? 'rule' : 'rules'}`;
}
