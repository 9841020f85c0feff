import { documentAt } from '../../../agent/config/docs-url.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { podOfProgram } from '../../../explain/resolving/resolving.ts';
import type { CheckInput } from '../facts.ts';
import { defaultTracefs, defaultFlowsFolder } from '../../../read/sources/sources.ts';
import { type ContainerLogFile, switchOf } from '../machine.ts';
import { type KernelSourceState, sourceName } from '../kernel-log.ts';
import { ago, answersOf, type Check } from '../report.ts';
import { plural } from '../../terminal.ts';

/** The least free space in bytes. A state takes 100 KB, or 10 MB with thousands of problems, and its log a few times as much. */
const enough = 32 * 1024 * 1024;

export function checkState({ config, folder, state, now }: CheckInput): Check {
  const { ok, problem, warning } = answersOf('state');
  const { stateDir: path, node } = config;
  if (folder.kind === 'refused')
    return problem(
      folder.reason,
      `let it be written to: a hostPath or volume at ${path}, writable for the user of the agent`,
    );
  if (folder.free < enough)
    return problem(
      `only ${Math.floor(folder.free / 1e6)} MB are free in ${path}`,
      'make room: counts are lost when the agent ends',
    );
  if (folder.kind === 'missing') return ok(`${path} does not exist yet; the agent will make it`);

  const when = (time: Millis | undefined): string => (time === undefined ? 'none' : ago(time, now));
  switch (state.kind) {
    case 'none':
      return ok(`${path} can be written to; it is empty`);
    case 'unreadable':
      return problem(
        `${path} cannot be read: ${state.reason}`,
        'let the user of the agent read it, or remove it: counts then restart at 0',
      );
    case 'unusable':
      return warning(
        `${path} cannot be used: ${state.reason}`,
        'do nothing: the agent will set it aside and start a new one',
      );
    case 'kept':
      if (node !== '' && state.node !== node)
        return warning(
          `${path} is of node ${state.node}, this is ${node}`,
          'give each Node its own state folder; the agent will set this one aside',
        );
      return ok(
        `${path} can be written to; last change kept ${when(state.saved)}; as of then, last drop ${when(state.lastDrop)}, last Event ${when(state.lastEvent)}`,
      );
    default:
      return state satisfies never;
  }
}

/** How far ahead a line may be, because the clocks of a node and of its log daemon may differ. */
const tolerable: Millis = 60_000;
const seeSources = `${documentAt('docs/sources.md')} has what each source needs: a journal and journalctl, a log file of the node's log daemon, or /dev/kmsg and a privileged container`;

export function checkKernelSources({ kernelSources, now }: CheckInput): Check[] {
  const kernelSource = kernelSources.find(({ gives }) => gives === true)?.name;
  return kernelSources.map((source) => checkKernelSource(source, kernelSource, now));
}

function checkKernelSource(
  { name, text, isCertain, log, gives, units }: KernelSourceState,
  kernelSource: string | undefined,
  now: Millis,
): Check {
  const { ok, problem, warning } = answersOf(`source ${name}`);
  if (log === undefined) return problem(text, seeSources);
  if ('reason' in log) return problem(`${text}: cannot be read: ${log.reason}`, switchOf(name) ?? seeSources);
  const { lines, from, last, packets } = log;
  const taken =
    gives === undefined
      ? ''
      : `; the kernel's lines are ${gives ? 'taken from here' : `skipped here, and taken from ${kernelSource ?? 'another source'}`}`;
  const others = `${taken}${units === undefined ? '' : `; ${units}`}`;
  if (lines === 0)
    return warning(
      `${text}: it has no line of the kernel${others}`,
      "if the node's log daemon writes the kernel's lines elsewhere, name that file: SOURCES=file:PATH; otherwise wait for the next line",
    );
  const lastDrop = packets.findLast(({ verdict }) => verdict === 'dropped' || verdict === 'rejected')?.time;
  const since = from === undefined ? '' : ` since ${ago(from, now)}`;
  const finding =
    `${text}: last line ${last === undefined ? 'at an unknown time' : ago(last, now)}, ` +
    `last drop ${lastDrop === undefined ? 'none' : ago(lastDrop, now)} (of ${plural(lines, 'line')} of the kernel${since})${others}`;
  if (last !== undefined && last > now + tolerable)
    return warning(
      finding,
      'set TIME_ZONE to the zone of these time stamps, or correct the clock: such lines count at the time when they are read',
    );
  return isCertain ? ok(finding) : warning(finding, seeSources);
}

const programs = ['kube-proxy', 'calico-node'] as const;

export function checkContainers({ config, containers, pods, now }: CheckInput): Check[] {
  if (containers === undefined) return [];
  const { ok, problem, warning } = answersOf('source containers');
  const root = config.podLogs;
  if (containers.kind === 'missing')
    return [
      problem(
        `there is no ${root}`,
        `mount the node's ${root} read-only, and what its links point to; or leave containers out of SOURCES`,
      ),
    ];
  if (containers.kind === 'error')
    return [problem(containers.reason, 'let the user of the agent read it: the folders belong to root')];
  const { logs } = containers;
  const shut = logs.flatMap(({ path, state }) => ('reason' in state ? [`${path}: ${state.reason}`] : []));
  if (shut.length > 0)
    return [
      problem(
        shut.join('; '),
        'let the user of the agent read it; if it is a link, mount the folder of the runtime that it points to',
      ),
    ];

  const missing = programs.filter(
    (program) =>
      !logs.some(({ container }) => container === program) && podOfProgram(program, pods ?? []) !== undefined,
  );
  const found = logs.map((log) => logText(log, now)).join(', ');
  if (missing.length > 0)
    return [
      warning(
        `no logs of ${missing.join(' and ')} in ${root}, though this node has such a Pod (found: ${found || 'none that CONTAINERS selects'})`,
        'check CONTAINERS: it names their namespaces, Pods and containers',
      ),
    ];
  const noPod = pods === undefined ? '' : ', and no Pod of them on this node';
  return [ok(found || `${root} can be read; no log of kube-proxy or calico-node${noPod}`)];
}

function logText({ namespace, pod, state }: ContainerLogFile, now: Millis): string {
  return `${namespace}/${pod}${'written' in state ? ` (last line ${ago(state.written, now)})` : ''}`;
}

export function checkFeeds({ feeds }: CheckInput): Check[] {
  return feeds.map(({ kind, name, folder, obstacle, countsReasons, connectionsObstacle }) => {
    const { ok, problem, warning } = answersOf(`source ${name}`);
    const { works, mount, page } = feedTexts[kind];
    if (obstacle !== undefined)
      return problem(
        `${folder}: ${obstacle}`,
        `mount the node's ${mount}, and see what else it needs (${documentAt(page)})`,
      );
    if (connectionsObstacle !== undefined)
      return warning(
        `${folder} ${works}, but not the probe that shows connections without an answer: ${connectionsObstacle}`,
        `dropped packets are still seen (${documentAt('docs/connect-failures.md')})`,
      );
    if (countsReasons === false)
      return warning(
        `${folder} ${works}, but the kernel cannot count its drops by reason (CONFIG_HIST_TRIGGERS)`,
        'Events are not affected; the metric kube_netfilter_tailer_kernel_drops_total needs a kernel with that option',
      );
    return ok(`${folder} ${works}`);
  });
}

const feedTexts = {
  'bpf-trace': {
    works: 'can be read, and has what BPF programs print',
    mount: defaultTracefs,
    page: 'docs/logging/calico.md#ebpf',
  },
  'kernel-drops': {
    works: 'takes the probe that shows why the kernel drops packets',
    mount: defaultTracefs,
    page: 'docs/kernel-drops.md',
  },
  'calico-flows': {
    works: "can hold the socket to which Calico's Felix sends its flows",
    mount: defaultFlowsFolder,
    page: 'docs/logging/calico.md#flows',
  },
} as const;

export function checkFlows({ unreadFlows }: CheckInput): Check[] {
  return unreadFlows.map((path) =>
    answersOf(`source file:${path}`).warning(
      `${path} exists but is not in SOURCES: its dropped packets are not read`,
      `add file:${path} to SOURCES`,
    ),
  );
}

export function checkProgramLogs({ programLogs, now }: CheckInput): Check[] {
  return programLogs.map(({ program, path, look }) => {
    const { ok, problem, warning } = answersOf(`source ${sourceName({ kind: 'program', program, path })}`);
    if (look.kind === 'written') return ok(`${path}: last written ${ago(look.at, now)}`);
    return look.kind === 'missing'
      ? warning(look.reason, 'check the path in SOURCES, and that its folder is mounted')
      : problem(look.reason, 'name the log file itself, and let the user of the agent read it');
  });
}
