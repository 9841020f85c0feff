import { adviceInAlerts, adviceInSource } from './advice.ts';
import { type Command, commandsOf } from './commands.ts';
import { documentPaths, filesBelow, textOf } from './documents.ts';
import { expressions } from './fillings.ts';

const alerts = 'deploy/monitoring/prometheus-rules.yaml';

/** Every command that a document, an Event, `doctor` or an alert gives its reader to run. */
export function allCommands(): Command[] {
  const sources = ['src/drops', 'src/incidents', 'src/commands/doctor'].flatMap((folder) => filesBelow(folder, '.ts'));
  return [
    ...documentPaths().flatMap((path) => commandsOf(path, textOf(path))),
    ...sources.flatMap((path) => adviceInSource(path, textOf(path), expressions)),
    ...adviceInAlerts(alerts, textOf(alerts)),
  ];
}
