/** Checks the settings of Calico that decide which packets the agent sees. */
import { documentAt } from '../../../agent/config/docs-url.ts';
import { diagnose, hints, objectToPatch } from '../../../explain/incidents/incidents.ts';
import { rightsFile } from '../../../agent/kubernetes/kubernetes.ts';
import type { FelixSettings, NodeFacts } from '../../../base/model/incident.ts';
import type { PrefixTable } from '../../../read/parsing/parsing.ts';
import { printable } from '../../../base/platform/printable.ts';
import { podOfProgram } from '../../../explain/resolving/resolving.ts';
import type { CheckInput } from '../facts.ts';
import { answersOf, type Check, seeApiServer } from '../report.ts';

type Felix = CheckInput['felix'];

export function checkCalico(known: CheckInput): Check[] {
  const { felix: look, pods, prefixes } = known;
  const { felix } = look;
  const { ok, unknown } = answersOf('calico');
  if (felix.kind === 'absent') return [ok('no FelixConfiguration: no Calico, or none with settings')];
  if (felix.kind === 'unreadable')
    return felix.reason === 'forbidden'
      ? [unknown('FelixConfiguration may not be read', `grant get on felixconfigurations: ${rightsFile}`)]
      : [unknown('FelixConfiguration could not be read', seeApiServer)];
  const facts: NodeFacts = {
    felix,
    kubeProxyHere: pods === undefined ? undefined : podOfProgram('kube-proxy', pods) !== undefined,
    conntrack: undefined,
    topSources: [],
    backends: {},
    firewallDropsSince: undefined,
  };
  return [
    checkConflict(felix.settings, facts),
    checkSeverity(felix.settings, facts, look),
    checkPrefix(look, prefixes),
    ...checkFelixFlows(look, known.feeds),
  ];
}

function checkConflict(settings: FelixSettings, facts: NodeFacts): Check {
  const { ok, problem, unknown } = answersOf('calico-bpf');
  if (settings.bpfEnabled !== true) return ok('eBPF is off');
  const symptoms = { failing: 'unknown', subjects: [], first: 0, last: 0 } as const;
  if (diagnose('KN102', facts, symptoms) === 'KN101')
    return problem(
      `bpfEnabled in FelixConfiguration ${settings.bpfFrom} lets Calico delete the chains of kube-proxy, which runs on this node`,
      `kubectl patch felixconfiguration ${objectToPatch(settings)} --type=merge --patch='{"spec":{"bpfKubeProxyIptablesCleanupEnabled":false}}'; other ways out: ${documentAt('docs/causes/KN101-felix-deletes-kube-proxy-chains.md')}`,
    );
  if (facts.kubeProxyHere === undefined)
    return unknown('eBPF is on; whether kube-proxy runs here is not known', seeApiServer);
  return ok(
    facts.kubeProxyHere
      ? "eBPF is on; kube-proxy's chains are left alone"
      : 'eBPF is on, and kube-proxy has no Pod here',
  );
}

function checkSeverity({ logSeverityScreen = 'Info' }: FelixSettings, facts: NodeFacts, look: Felix): Check {
  const { ok, warning } = answersOf('calico-log-level');
  const [hint] = hints({ code: 'KN201', diagnosis: 'KN201', facts });
  if (hint === undefined) return ok(`felix logs its warnings (logSeverityScreen ${logSeverityScreen})`);
  return warning(hint, patchWith(look, { logSeverityScreen: 'Warning' }));
}

/** Returns the command that sets the fields in the object in force for the first one: the node's own, or `default`. */
function patchWith({ objectWith }: Felix, spec: Readonly<Record<string, string>>): string {
  const [field = ''] = Object.keys(spec);
  return `kubectl patch felixconfiguration ${objectWith(field)} --type=merge --patch='${JSON.stringify({ spec })}'`;
}

/** Felix's default of logPrefix (felix/config/config_params.go). */
const defaultPrefix = 'calico-packet';

function checkPrefix(look: Felix, prefixes: PrefixTable): Check {
  const { ok, warning } = answersOf('calico-log-prefix');
  const { logPrefix } = look;
  const prefix = logPrefix ?? defaultPrefix;
  const { verdict } = prefixes.look(prefix);
  const shown = `logPrefix is ${printable(prefix)}${logPrefix === undefined ? ', the default' : ''}`;
  if (verdict !== 'logged') return ok(`${shown}: means ${verdict}`);
  return warning(
    `${shown}: policy rules with action Log do not show whether the packet is lost, and make no Events`,
    `if all of them come before a Deny: ${patchWith(look, { logPrefix: 'calico-drop %k %p' })}`,
  );
}

function checkFelixFlows(look: Felix, feeds: CheckInput['feeds']): Check[] {
  const { ok, problem, warning } = answersOf('calico-flows');
  const { flows } = look;
  const isTaken = feeds.some(({ kind }) => kind === 'calico-flows');
  if (flows === 'Enabled')
    return [
      isTaken
        ? ok('felix sends its flows, and SOURCES has calico-flows')
        : warning(
            'felix sends its flows to a socket of the node, and SOURCES does not have calico-flows',
            `to have Events of what they deny: the component calico-flows (${documentAt('docs/logging/calico.md#flows')})`,
          ),
    ];
  if (!isTaken) return [];
  return [
    problem(
      `SOURCES has calico-flows, but felix sends no flows: flowLogsLocalReporter is ${printable(flows ?? 'not set')}`,
      patchWith(look, { flowLogsLocalReporter: 'Enabled', flowLogsFlushInterval: '15s' }),
    ),
  ];
}
