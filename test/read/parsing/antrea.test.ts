import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from '../../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';

const prefixes = createPrefixTable();

const lineOf = (rule: string, end: string): string =>
  `2026/11/30 14:41:23.037955 AntreaPolicyIngressRule AntreaNetworkPolicy:shop/only-web ${rule} Ingress Drop 44900 shop/db-0 10.71.0.2 35402 10.71.0.3 5432 TCP 60 ${end}`;

/** Words that Antrea writes after the rule's name. */
const ofOtherFields = fc.constantFrom(
  ...'Ingress Egress Allow Drop Reject Redirect 14500 <nil> bank/vault-0 10.71.0.9 fd00:71::9 443 UDP 1500 [9'.split(
    ' ',
  ),
  'packets',
  'in',
  '1.01s]',
  'K8sNetworkPolicy',
  'AntreaClusterNetworkPolicy:strict',
);
const rules = fc.array(fc.oneof(ofOtherFields, fc.string({ maxLength: 8 })), { minLength: 1, maxLength: 24 });

test('however a rule is called, its line says the same of the packet', () => {
  fc.assert(
    fc.property(rules, fc.constantFrom('<nil>', 'Drop', 'my-label', 'my-label [3 packets in 1.01s]'), (words, end) => {
      const rule = words.join(' ').replaceAll(/[\r\n]/g, ' ');
      expect(parse(lineOf(rule, end), prefixes)).toEqual(parse(lineOf('deny', end), prefixes));
    }),
  );
});
