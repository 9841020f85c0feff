import { adviceInAlerts, adviceInExpected } from './advice.ts';
import { type Command, commandsOf } from './commands.ts';
import { documentPaths, textOf } from './documents.ts';

const alerts = 'deploy/monitoring/prometheus-rules.yaml';
/** Files with everything that Events and `doctor` advise. */
export const expectedMessages = [
  'test/explain/drops/advice.expected.txt',
  'test/explain/drops/policy-verdict.expected.txt',
  'test/explain/incidents/catalogue/causes.expected.txt',
  'test/cli/doctor/sentences.expected.txt',
  'test/cli/doctor/enable-logging.expected.txt',
];

/** This document's table has patterns of commands; other documents have the full commands. */
const patternsOnly = 'docs/other-projects.md';

/** Every command that a document, an Event, `doctor` or an alert gives its reader to run. */
export function allCommands(): Command[] {
  return [
    ...documentPaths()
      .filter((path) => path !== patternsOnly)
      .flatMap((path) => commandsOf(path, textOf(path))),
    ...expectedMessages.flatMap((path) => adviceInExpected(path, textOf(path))),
    ...adviceInAlerts(alerts, textOf(alerts)),
  ];
}
