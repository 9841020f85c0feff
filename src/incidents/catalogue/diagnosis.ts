import type { NodeFacts } from '../../model/incident.ts';
import { causes } from './catalogue.ts';
import type { HintDetails, Symptoms } from './cause.ts';

/** The cause that explains best what the lines say (`code`): itself where no fact points to another. */
export function diagnose(code: string, facts: NodeFacts, symptoms: Symptoms): string {
  const behind = causes.find(({ explains }) => explains?.codes.includes(code) && explains.when(facts, symptoms));
  return behind?.code ?? code;
}

const hintLimit = 2;

/** What else to know: at most two sentences of at most 160 bytes, most important first. */
export function hints(details: HintDetails): string[] {
  return [hiddenWarnings(details), ...causes.map(({ explains }) => explains?.hint?.(details))]
    .filter((hint) => hint !== undefined)
    .slice(0, hintLimit);
}

/** Severities above the warnings in which felix logs that it could not write its rules, or that another program changed them. */
const severitiesAboveWarning = new Set(['error', 'fatal', 'panic', 'none']);

function hiddenWarnings({ code, facts: { felix } }: HintDetails): string | undefined {
  if (felix?.kind !== 'settings' || !/^KN[12]/.test(code)) return undefined;
  const { logSeverityScreen = '' } = felix.settings;
  if (!severitiesAboveWarning.has(logSeverityScreen.toLowerCase())) return undefined;
  return `logSeverityScreen ${logSeverityScreen} hides what felix warns of its rules.`;
}
