/** Help and options of `doctor`. */
import { environment, loadUsableConfig, type UsableConfig } from '../../config/config.ts';
import { ownPod, type PodName } from '../doctor/own-pod.ts';
import { readSettingOptions, settingsHelp } from './setting-options.ts';
import { UsageError } from './usage-error.ts';

export const doctorHelp = `Usage: kube-netfilter-tailer doctor [--output text|json] [OPTION...]
       kube-netfilter-tailer doctor --send-test-event [--pod NAMESPACE/NAME] [OPTION...]
       kube-netfilter-tailer doctor --enable-logging [--output text|json] [OPTION...]

Looks whether everything that "run" needs is there: settings, API server, rights, state, logs, rules that log, Calico's configuration,
a running agent. To be run with the same settings, on a node or in the agent's Pod. Changes nothing.

  -o, --output FORMAT    text (default), or json: one object (docs/doctor.md)
  --send-test-event      write one harmless Event instead, of type Normal with the reason TestEvent, to see it arrive: on the own Pod
                         (POD_NAME, POD_NAMESPACE), or else on the Node
  --pod NAMESPACE/NAME   on that Pod
  --enable-logging       find the network plug-in, and print what makes it log dropped packets: the manifest, how to undo it, what it
                         costs. Nothing is applied

All options of "run":

${settingsHelp}
Exit status
  0  all is well, or there are only warnings; with --enable-logging: there is a way
  1  there is a problem, or the Event was not written; with --enable-logging: no plug-in was recognised, or it cannot log
  2  the command line is wrong
`;

export interface DoctorOptions extends UsableConfig {
  output: 'text' | 'json';
  sendTestEvent: boolean;
  enableLogging: boolean;
  pod: PodName | undefined;
  ownPod: PodName | undefined;
}

const own = {
  output: { type: 'string', short: 'o' },
  'send-test-event': { type: 'boolean' },
  'enable-logging': { type: 'boolean' },
  pod: { type: 'string' },
} as const;

/** Reads the arguments after `doctor`, and the environment. Throws a `UsageError` that lists all that is wrong with the arguments. */
export function readDoctorOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv = environment(),
): DoctorOptions | 'help' {
  // Wrong settings are what doctor reports, so it must not fail on them as `run` does.
  const read = readSettingOptions(args, 'doctor', own, (flags) => loadUsableConfig({ flags, env }));
  if (read === 'help') return 'help';
  const { last, switches } = read.options;
  const [output, pod] = [last('output') ?? 'text', last('pod')];
  const sendTestEvent = switches.has('send-test-event');
  const enableLogging = switches.has('enable-logging');
  const wrong: string[] = [];
  if (output !== 'text' && output !== 'json') wrong.push(`--output ${output}: must be text or json`);
  const [, namespace = '', name = ''] = /^([^/]+)\/([^/]+)$/.exec(pod ?? '') ?? [];
  if (pod !== undefined && name === '') wrong.push(`--pod ${pod}: must be NAMESPACE/NAME`);
  if (pod !== undefined && !sendTestEvent) wrong.push('--pod is only for --send-test-event');
  if (sendTestEvent && enableLogging) wrong.push('--enable-logging and --send-test-event exclude each other');
  if (wrong.length > 0) throw new UsageError(wrong, 'doctor');
  return {
    ...read.loaded,
    output: output === 'json' ? 'json' : 'text',
    sendTestEvent,
    enableLogging,
    pod: name !== '' ? { namespace, name } : undefined,
    ownPod: ownPod(env),
  };
}
