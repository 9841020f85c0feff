/** Options of `doctor`. */
import type { Command } from 'commander';
import { environment, loadUsableConfig, type UsableConfig } from '../../config/config.ts';
import { ownPod, type PodName } from '../doctor/own-pod.ts';
import { createCommand, option, problemsOf } from './command.ts';
import { addSettings, readSettings } from './run-options.ts';

export function doctorCommand(): Command {
  const command = createCommand('doctor', {
    summary: 'check prerequisites, and say what to do',
    usage: '[--send-test-event | --enable-logging] [OPTION...]',
    about: `Looks whether everything that "run" needs is there: settings, API server, rights, state, logs, rules that log, Calico's configuration, a running agent. To be run with the same settings, on a node or in the agent's Pod. Changes nothing.`,
    exits: [
      'all is well, or there are only warnings; with --enable-logging: there is a way',
      'there is a problem, or the Event was not written; with --enable-logging: no plug-in was recognised, or it cannot log',
      'the command line is wrong',
    ],
  })
    .addOption(
      option('-o, --output <FORMAT>', 'text (default), or json: one object (docs/doctor.md)', {
        choices: ['text', 'json'],
      }),
    )
    .addOption(
      option(
        '--send-test-event',
        'write one harmless Event instead, of type Normal with the reason TestEvent, to see it arrive: on the own Pod (POD_NAME, POD_NAMESPACE), or else on the Node',
      ),
    )
    .addOption(option('--pod <NAMESPACE/NAME>', 'on that Pod'))
    .addOption(
      option(
        '--enable-logging',
        'find the network plug-in, and print what makes it log dropped packets: the manifest, how to undo it, what it costs. Nothing is applied',
      ),
    );
  return addSettings(command);
}

export interface DoctorOptions extends UsableConfig {
  output: 'text' | 'json';
  sendTestEvent: boolean;
  enableLogging: boolean;
  pod: PodName | undefined;
  ownPod: PodName | undefined;
}

/** Throws a `UsageError` that lists all that is wrong with the arguments: wrong settings are what doctor reports itself. */
export function readDoctorOptions(command: Command, env: NodeJS.ProcessEnv = environment()): DoctorOptions {
  const given = command.opts<{ output?: string; pod?: string; sendTestEvent?: boolean; enableLogging?: boolean }>();
  const { output, pod, sendTestEvent = false, enableLogging = false } = given;
  const wrong = problemsOf(command);
  const [, namespace = '', name = ''] = /^([^/]+)\/([^/]+)$/.exec(pod ?? '') ?? [];
  if (pod !== undefined && name === '') wrong.push(`--pod ${pod}: must be NAMESPACE/NAME`);
  if (pod !== undefined && !sendTestEvent) wrong.push('--pod is only for --send-test-event');
  if (sendTestEvent && enableLogging) wrong.push('--enable-logging and --send-test-event exclude each other');
  return {
    ...readSettings(command, wrong, (flags) => loadUsableConfig({ flags, env })),
    output: output === 'json' ? 'json' : 'text',
    sendTestEvent,
    enableLogging,
    pod: name !== '' ? { namespace, name } : undefined,
    ownPod: ownPod(env),
  };
}
