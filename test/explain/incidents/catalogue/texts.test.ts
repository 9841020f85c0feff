import { describe, expect, it } from 'vitest';
import { causeOf, causes } from '../../../../src/explain/incidents/catalogue/catalogue.ts';
import type { Cause } from '../../../../src/explain/incidents/catalogue/cause.ts';
import { unreachable } from '../../../../src/explain/incidents/catalogue/texts.ts';
import type { IncidentDetails } from '../../../../src/base/model/incident.ts';
import { felixSettings } from '../../../builders.ts';
import { anyNode, anyDetails, factsOf, detailsOf } from './details.ts';
import { forAll } from '../../../for-all.ts';

const bytes = (text: string) => Buffer.byteLength(text);

function textsOf(cause: Cause, details: IncidentDetails, node: string) {
  return {
    what: cause.what(details, node),
    why: cause.why(details, node),
    fix: cause.fix(details, node),
    impact: cause.impact?.(details),
  };
}

describe.each(causes.map((cause) => [cause.code, cause] as const))('%s', (code, cause) => {
  it('gives whole sentences of limited length whatever the details', () => {
    forAll([anyDetails, anyNode], { numRuns: 80 }, (details, node) => {
      for (const text of Object.values(textsOf(cause, details, node))) {
        if (text === undefined) continue;
        expect(bytes(text)).toBeLessThanOrEqual(300);
        expect(text).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u);
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toMatch(/\b(?:undefined|null|NaN|Infinity)\b|\[object/);
        expect(text).toMatch(/\S/);
        expect(text).not.toMatch(/^\s|\s$| {2}|—/);
      }
    });
  });

  it('leaves room for Services and Pods in an Event', () => {
    const details = detailsOf({
      code,
      diagnosis: code,
      failing: cause.programs[0] ?? 'kube-proxy',
      subjects: ['KUBE-SVC-Q5DTBKX2YJ7RCW6N', 'KUBE-SVC-TCOU7JCQXEZGVUNU'],
      moreSubjects: 4,
    });
    const { what, why, fix, impact } = textsOf(cause, details, 'ip-10-0-12-34.eu-central-1.compute.internal');
    expect(bytes(what) + bytes(why) + bytes(fix)).toBeLessThanOrEqual(640);
    for (const text of [what, why, fix]) expect(text).toMatch(/[.)]$|[a-z]\.$/);
    if (impact !== undefined) expect(bytes(impact)).toBeLessThanOrEqual(120);
    expect(what).toContain('ip-10-0-12-34');
  });

  it('has a sentence for Pods exactly if it is serious', () => {
    expect(cause.impact === undefined).toBe(cause.severity === 'warning');
  });
});

it.each([
  ['felix', 'New policies'],
  ['calico-node', 'New policies'],
  ['kube-proxy', 'New or moved Services'],
] as const)('%s: the impact begins with %s', (failing, beginning) => {
  expect(unreachable(detailsOf({ failing }))).toMatch(new RegExp(`^${beginning}`));
});

it('KN101 contains only valid names of objects', () => {
  const settings = felixSettings({ bpfEnabled: true, bpfFrom: "default; rm -rf / '" });
  const details = detailsOf({ facts: factsOf({ felix: { kind: 'settings', settings } }) });
  expect(causeOf('KN101').fix(details, 'node-a')).not.toContain('rm -rf');
});

it('KN105 contains only valid names of modules', () => {
  const details = detailsOf({ subjects: ['x;reboot', '$(reboot)'] });
  expect(causeOf('KN105').fix(details, 'node-a')).not.toContain('reboot');
});
