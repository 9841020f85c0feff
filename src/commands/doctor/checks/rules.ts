/** Checks of the kernel's rules and switches: whether any rule logs, and whether that gets to the log. */
import { documentAt } from '../../../config/docs-url.ts';
import type { Millis } from '../../../model/log-line.ts';
import { type Known, loggerFile } from '../facts.ts';
import { latestLines } from '../kernel-log.ts';
import { ago, answersOf, type Check, plural } from '../report.ts';
import { whyUnseen } from '../rules.ts';

/** Whether PROC_ROOT leads to a /proc; no check where it is not set. */
export function checkProcRoot({ config: { procRoot }, hasProcRoot }: Known<'hasProcRoot'>): Check[] {
  const { ok, warning } = answersOf('proc-root');
  if (procRoot === '/proc') return [];
  if (hasProcRoot) return [ok(`${procRoot} is there`)];
  return [
    warning(
      `${procRoot} is no /proc, or cannot be read: incidents do not tell who fills the connection tracking table`,
      "mount there what deploy/components/conntrack-details mounts of the host's /proc, read-only, or leave PROC_ROOT out",
    ),
  ];
}

/** A line that is older may be of a rule that is gone. */
const recent: Millis = 3_600_000;

/** Whether any rule of this node logs: no rule that logs, no line. */
export function checkLogRules({ rules, view, kernelSources, now }: Known<'rules' | 'view' | 'kernelSources'>): Check {
  const { ok, problem, unknown } = answersOf('log-rules');
  const packets = latestLines(kernelSources)?.packets ?? [];
  const last = Math.max(...packets.map(({ time }) => time));
  const records = kernelSources.flatMap(({ log }) =>
    log !== undefined && 'packets' in log ? log.packets.filter(({ record }) => record !== undefined) : [],
  );
  const latest = records.toSorted((a, b) => b.time - a.time)[0];
  if (latest !== undefined && packets.length === 0 && (view === 'pod' || rules.logs.length === 0))
    return ok(
      `no rule that logs is found, but ${latest.record} does: ${plural(records.length, 'line')} lately, the last one ${ago(latest.time, now)}`,
    );
  if (view === 'pod') return unseen("rules are not to be seen from a Pod without the node's network");
  if (rules.logs.length > 0) {
    const targets = Map.groupBy(rules.logs, ({ target }) => target);
    const counted = (['LOG', 'NFLOG'] as const).flatMap((target) => {
      const count = targets.get(target)?.length;
      return count === undefined ? [] : [`${count} ${target}`];
    });
    return ok(`rules that log, by prefix: ${counted.join(' and ')}`);
  }
  if (rules.unseen.length > 0)
    return unseen(
      `none found, but the rules of ${rules.unseen.join(' and ')} cannot be seen (${whyUnseen(rules.failures)})`,
    );
  const gone =
    packets.length === 0
      ? ''
      : `. One that did is gone: ${plural(packets.length, 'line')} lately, the last one ${ago(last, now)}`;
  return problem(
    `no rule of this node logs: lost packets leave no trace${gone}`,
    `put a rule with LOG before the one that drops; ${documentAt('docs/logging.md')} has one for each set-up`,
  );

  /** A recent line shows that there is a rule. */
  function unseen(why: string): Check {
    const byHand = "run on the node as root: iptables-save | grep -E -- '-j N?F?LOG'; nft list ruleset | grep -w log";
    if (packets.length === 0) return unknown(why, byHand);
    const line = `the last line of one came ${ago(last, now)}`;
    return now - last <= recent ? ok(`there are rules that log: ${line}; ${why}`) : unknown(`${why}; ${line}`, byHand);
  }
}

/** Whether both backends of iptables have rules: the kernel asks both, and the programs of each see only their own. */
export function checkIptablesBackends({ rules, view }: Known<'rules' | 'view'>): Check {
  const { ok, problem, unknown, warning } = answersOf('iptables-backends');
  const byHand = 'run on the node as root: iptables-legacy-save | grep -c ^-A; iptables-nft-save | grep -c ^-A';
  const page = documentAt('docs/causes/KN110-mixed-iptables-backends.md');
  if (view === 'pod') return unknown("not to be seen from a Pod without the node's network", byHand);
  const { legacy, nft } = rules;
  if (legacy === undefined || nft === undefined) {
    const hidden = legacy !== undefined ? 'nft' : nft !== undefined ? 'legacy' : 'both backends';
    const why = whyUnseen(rules.failures.filter(({ program }) => program !== 'nft'));
    return unknown(`the rules of ${hidden} cannot be seen (${why})`, byHand);
  }
  if (legacy.rules > 0 && nft.rules > 0) {
    const counts = `legacy has ${plural(legacy.rules, 'rule')}, nft ${plural(nft.rules, 'rule')}`;
    return legacy.hasClusterChains && nft.hasClusterChains
      ? problem(
          `${counts}, and kube-proxy or Calico are in both`,
          `let kube-proxy, Calico and the node use the same one: ${page}`,
        )
      : warning(counts, `a packet passes both; if it should not be so: ${page}`);
  }
  if (legacy.rules + nft.rules === 0) return ok('no rules of iptables');
  return ok(`only ${legacy.rules > 0 ? 'legacy' : 'nft'} (${plural(legacy.rules + nft.rules, 'rule')})`);
}

const families = [
  { name: 'nf-log IPv4', family: 2, module: 'nf_log_ipv4' },
  { name: 'nf-log IPv6', family: 10, module: 'nf_log_ipv6' },
] as const;

/** Newer kernels have one module for both families, `nf_log_syslog`. */
const toSyslog = /^nf_log_(?:syslog|ipv[46])$/;

/** This concerns TRACE and invalid packets: LOG rules use the kernel's log whatever stands here (nf_log_packet, net/netfilter/nf_log.c). */
export function checkLogBackend({ switches, view }: Known<'switches' | 'view'>): Check[] {
  if (view === 'pod')
    return [
      answersOf('nf-log').unknown(
        "not to be seen from a Pod without the node's network; LOG rules do not go by it, only TRACE and what connection tracking finds invalid",
        `run on the node: head ${families.map(({ family }) => loggerFile(family)).join(' ')}`,
      ),
    ];
  return families.map(({ name, family, module }) => {
    const { ok, unknown, warning } = answersOf(name);
    const path = loggerFile(family);
    const logger = switches.loggers[family];
    if (logger === undefined) return unknown(`${path} cannot be read`, `run on the node as root: cat ${path}`);
    if (toSyslog.test(logger)) return ok(`${logger} writes to the kernel's log`);
    if (logger === 'NONE')
      return warning(
        "no module writes packets to the kernel's log yet (NONE)",
        'the first LOG rule loads it, or: modprobe nf_log_syslog (before Linux 5.13: nf_log_ipv4, nf_log_ipv6)',
      );
    return warning(
      `TRACE and what is invalid to connection tracking go to ${logger}; LOG rules do not`,
      `if they should be in the kernel's log: sysctl net.netfilter.nf_log.${family}=${module}`,
    );
  });
}

/** These nodes are containers on one machine. */
const inContainers = /^kind:|^k3s:\/\/k3d-/;
/** The nodes of these clouds are machines. */
const onMachines = /^(?:aws|azure|digitalocean|equinixmetal|gce|hcloud|ibm|linode|openstack|vsphere):/;

/** Checks the sysctl without which the first network namespace alone logs. It matters if the node is itself a container. */
export function checkLogNamespaces({ switches, view, ownNode }: Known<'switches' | 'view' | 'ownNode'>): Check {
  const { ok, unknown, warning } = answersOf('nf-log-all-netns');
  const { providerId = '' } = (ownNode?.kind === 'answered' ? ownNode.found : undefined) ?? {};
  if (view === 'initial')
    return ok(
      switches.allNamespaces === '1'
        ? 'on: rules of all network namespaces log'
        : "off, and not needed: the node's network is the kernel's first",
    );
  const advice =
    'run on the machine itself: sysctl net.netfilter.nf_log_all_netns; it must be 1, or the rules of this node log nothing';
  if (inContainers.test(providerId))
    return warning('this node is itself a container, whose rules log only if the machine lets them', advice);
  if (view === 'node')
    return warning("the node's network is not the kernel's first: its rules log only if the machine lets them", advice);
  if (onMachines.test(providerId)) return ok(`not needed: the node is a machine (${providerId})`);
  return unknown('not to be seen from here; it matters only where the node is itself a container (kind, k3d)', advice);
}
