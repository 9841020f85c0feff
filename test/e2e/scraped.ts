/**
 * Adds up the series of a metric in a scrape whose labels contain this text; the metric's name is without the prefix.
 */
export function valueIn(scrape: string, name: string, labels = ''): number {
  const series = scrape.matchAll(new RegExp(`^kube_netfilter_tailer_${name}(?:\\{([^}]*)\\})? (\\S+)$`, 'gm'));
  return [...series].reduce((sum, [, of = '', value]) => sum + (of.includes(labels) ? Number(value) : 0), 0);
}
