/** The list of policies is a table; here each name becomes a button that shows its records. */
import type { PageData } from '../row-format.ts';
import type { Chip } from './selection.ts';

export function createPolicies({ policies }: PageData, show: (chips: readonly Chip[]) => void): void {
  const rows = document.querySelectorAll<HTMLTableRowElement>('#policies tbody tr');
  for (const [place, { policy, verdict }] of policies.entries()) {
    const cell = rows[place]?.cells[0];
    if (cell === undefined) continue;
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'link' });
    button.append(...cell.childNodes);
    button.title = 'Show the records';
    button.addEventListener('click', () =>
      show([
        { id: 'policy', label: `policy ${policy}`, column: 'policies', names: [policy] },
        { id: 'verdict', label: `verdict ${verdict}`, column: 'verdict', names: [verdict] },
      ]),
    );
    cell.append(button);
  }
}
