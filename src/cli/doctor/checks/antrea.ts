/** Checks whether a policy of Antrea has a rule whose name can begin a line in Antrea's log. */
import { documentAt } from '../../../agent/config/docs-url.ts';
import type { CheckInput } from '../facts.ts';
import { answersOf, type Check, seeApiServer } from '../report.ts';
import { inOneLine } from './cluster.ts';

export function checkRuleNames({ strangeRuleNames }: CheckInput): Check[] {
  if (strangeRuleNames === undefined) return [];
  const { ok, unknown, warning } = answersOf('antrea-rule-names');
  if ('why' in strangeRuleNames) return [unknown(`not known: ${strangeRuleNames.why}`, seeApiServer)];
  if (strangeRuleNames.length === 0) return [ok('no name of a rule has a line break')];
  return [
    warning(
      `rules have names with line breaks or other control characters: ${inOneLine(strangeRuleNames)}`,
      `in np.log, the text after a line break may name any Pod. Ask who wrote them, and have the API server refuse such names: ${documentAt('docs/logging/antrea.md#names-of-rules')}`,
    ),
  ];
}
