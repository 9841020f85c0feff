import { explainKernelTable, explainMartian } from './explaining/findings.ts';
import { createFlowMemo } from './flow-memo.ts';
import type { Ends, Finding, LogLine, Martian, Millis, ObjectRef, PacketObservation } from './model.ts';
import { parse } from './parsing/formats.ts';
import type { PrefixTable } from './parsing/prefixes.ts';
import { type Directory, type Moment, nodeRef } from './resolving/directory.ts';
import { nodeOf, resolveMartian } from './resolving/resolver.ts';
import type { SeriesTable } from './series/table.ts';
import type { Origin } from './sources/envelopes/envelope.ts';
import type { Statistics } from './statistics.ts';

export interface PipelineOptions {
  prefixes: PrefixTable;
  directory: Directory;
  statistics: Statistics;
  /** Called for each line that counts, before it is counted: what is due before `time` can be written. */
  advance: (node: string, time: Millis) => void;
  series: (node: string) => SeriesTable;
  /** Name of the node all lines come from, over what the lines say. */
  node: string | undefined;
  /** Make Events of link-local chatter too. */
  includeNoise: boolean;
  /** Sees every dropped or rejected packet. */
  onDrop?:
    | ((
        line: LogLine,
        observation: PacketObservation | Martian,
        ends: Ends,
        node: string,
        noise: string | undefined,
      ) => void)
    | undefined;
}

/** parsing → resolving → explaining → series, for one line at a time. Does no I/O and never waits. */
export interface Pipeline {
  take: (line: LogLine, origin: Origin) => void;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { prefixes, directory, statistics, includeNoise, onDrop } = options;
  const understand = createFlowMemo(directory, options.node);
  return {
    take(line, origin) {
      const observation = parse(line.text, prefixes, origin !== 'userspace');
      if (observation === undefined) {
        if (origin === 'userspace' && parse(line.text, prefixes) !== undefined) statistics.notKernel++;
        return;
      }
      const at = { time: line.time, exact: line.timeIsExact };
      statistics.observed(line, observation);
      switch (observation.kind) {
        case 'packet':
          return takePacket(line, observation);
        case 'martian':
          return takeMartian(line, observation, at);
        case 'conntrack-full':
          return takeTable(
            'conntrack',
            observation.netns === undefined ? undefined : `network namespace ${observation.netns}`,
            line,
            at,
          );
        case 'neighbour-overflow':
          return takeTable('neighbour', observation.family, line, at);
        case 'suppressed': {
          const node = nodeOfLine(line, at);
          options.advance(node, line.time);
          return options.series(node).suppress(observation, node, line.time);
        }
        case 'unparsable':
          return;
        default:
          observation satisfies never;
      }
    },
  };

  function nodeOfLine(line: LogLine, at: Moment): string {
    return nodeOf(options.node ?? line.host, undefined, directory, at);
  }

  function takePacket(line: LogLine, observation: PacketObservation): void {
    if (observation.verdict !== 'dropped' && observation.verdict !== 'rejected') return;
    const { node, ends, noise, findings } = understand(line, observation);
    onDrop?.(line, observation, ends, node, noise);
    statistics.resolved(ends, noise !== undefined, observation.repeat);
    if (noise !== undefined && !includeNoise) return;
    report(findings, node, line.time, observation.repeat);
  }

  function takeMartian(line: LogLine, observation: Martian, at: Moment): void {
    const node = nodeOfLine(line, at);
    const ends = resolveMartian(observation, directory, at);
    onDrop?.(line, observation, ends, node, undefined);
    statistics.resolved(ends, false, 1);
    report(explainMartian(observation, ends, node), node, line.time, 1);
  }

  function takeTable(table: 'conntrack' | 'neighbour', detail: string | undefined, line: LogLine, at: Moment): void {
    const name = nodeOfLine(line, at);
    if (name === '') {
      statistics.nodeUnknown++;
      return;
    }
    const node = directory.node(name);
    const regarding: ObjectRef = node
      ? nodeRef(node)
      : { apiVersion: 'v1', kind: 'Node', namespace: undefined, name, uid: '', resourceVersion: undefined };
    report([explainKernelTable(table, detail, regarding)], name, line.time, 1);
  }

  function report(findings: readonly Finding[], node: string, time: Millis, weight: number): void {
    options.advance(node, time);
    for (const finding of findings) options.series(node).count(finding, time, weight);
  }
}
