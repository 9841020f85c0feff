import type { Millis } from '../../model/log-line.ts';
import type { CauseRow } from './cause.ts';
import { program } from './texts.ts';

/** Lines of one reload come within seconds; a fight goes on for as long as both are there. */
const onceWithin: Millis = 10_000;
const reloadWithin: Millis = 60_000;

export const firewallReload: CauseRow = {
  code: 'KN205',
  name: 'firewall-reload',
  title: "A reload of the host's firewall broke the rules of Pods",
  reason: 'FirewallReloaded',
  overReason: 'FirewallCalm',
  retryInterval: 180_000,
  explains: {
    codes: ['KN102', 'KN103', 'KN107', 'KN108', 'KN204'],
    when: ({ firewallDropsSince: since }, { first, last }) =>
      last - first <= onceWithin && since !== undefined && Math.abs(since - first) <= reloadWithin,
  },
  what: (details, node) =>
    `The host's firewall on ${node} was reloaded and changed the rules of ${program(details)}: Pods may have lost the outside world.`,
  why: (details) =>
    `A reload of firewalld or ufw flushes iptables or puts its own rules first; ${
      details.facts.firewallDropsSince === undefined
        ? 'rules were found changed at that time'
        : "the host's firewall began to drop packets of Pods at that time"
    }.`,
  fix: () =>
    'Let it accept Pods: firewall-cmd --permanent --zone=trusted --add-source=POD_RANGE; firewall-cmd --reload. Or, where something else protects nodes, turn it off: systemctl disable --now firewalld (or ufw disable). Then restart calico-node and kube-proxy of this node, which rebuild their rules.',
  impact: () => 'Traffic of this Pod may be dropped by the firewall of its node.',
};
