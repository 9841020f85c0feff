import { parser } from '@prometheus-io/lezer-promql';

export interface Selector {
  metric: string;
  labels: readonly string[];
  /**
   * Values that a label is compared with. For `=~` and `!~`: each alternative, if the expression is a plain list of
   * them.
   */
  values: Readonly<Record<string, readonly string[]>>;
}

export interface Query {
  /** Texts that are not PromQL; empty if everything is valid. */
  errors: readonly string[];
  selectors: readonly Selector[];
  /** Labels by which the query groups, matches or joins. */
  grouping: readonly string[];
}

/** Reads PromQL with the grammar of Prometheus's own editor. */
export function readQuery(text: string): Query {
  const errors: string[] = [];
  const selectors: { metric: string; labels: string[]; values: Record<string, string[]> }[] = [];
  const grouping: string[] = [];
  parser.parse(text).iterate({
    enter({ name, type, from, to, node }) {
      const own = text.slice(from, to);
      if (type.isError) errors.push(`${own || 'something is missing'} at ${from} in ${text}`);
      if (name === 'VectorSelector') selectors.push({ metric: '', labels: [], values: {} });
      const selector = selectors.at(-1);
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector' && selector) selector.metric = own;
      if (name === 'StringLiteral' && selector && node.parent?.name === 'UnquotedLabelMatcher') {
        const plain = own
          .slice(1, -1)
          .split('|')
          .filter((value) => /^[\w ]+$/.test(value));
        selector.values[selector.labels.at(-1) ?? ''] = plain;
      }
      if (name !== 'LabelName') return;
      if (node.parent?.name === 'GroupingLabels') grouping.push(own);
      else selector?.labels.push(own);
    },
  });
  return { errors, selectors, grouping };
}
