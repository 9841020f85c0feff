import { expect, test } from 'vitest';
import { envTypos } from '../../../src/agent/config/layer.ts';
import { loadConfig } from '../../../src/agent/config/config.ts';
import { subjectsOf } from '../../subject.ts';

const tables: {
  others: [string, Record<string, string>][];
  typos: [string, string][];
} = {
  // Variables without a warning.
  others: [
    ['a correct variable', { MAX_NODES: '5' }],
    ['set to nothing', { MAX_NODE: '' }],
    ['beside the right one', { MAX_NODE: '5', MAX_NODES: '5' }],
    ['a word that anybody may use', { SOURCE: 'x', PREFIX: '/usr', CONFIG: 'x' }],
    [
      'the variables of a Pod',
      { HOSTNAME: 'a', POD_NAME: 'a', POD_IP: '10.1.1.1', HOST_IP: '10.1.1.1', TZ: 'UTC', KUBECONFIG: '/a' },
    ],
    ['variables of a Service', { MAX_NODES_SERVICE_HOST: '10.0.0.1', LOG_LEVEL_PORT: 'tcp://10.0.0.1:80' }],
    ['of kube-iptables-tailer', { IPTABLES_LOG_PATH: '/a', KUBE_API_SERVER: 'x', POD_IDENTIFIER: 'name' }],
  ],
  // Misspelt variables, and the variable that is meant.
  typos: [
    ['MAX_NODE', 'MAX_NODES'],
    ['MAXNODES', 'MAX_NODES'],
    ['LOG_LEVLE', 'LOG_LEVEL'],
    ['METRIC_ADDRESS', 'METRICS_ADDRESS'],
    ['CONFIG_FILES', 'CONFIG_FILE'],
    ['STATEDIR', 'STATE_DIR'],
  ],
};

test.each(tables.typos)('%s is taken for a typo of %s', (name, meant) => {
  const [typo = '', ...others] = envTypos({ [name]: 'x' });
  expect(subjectsOf([typo, ...others])).toEqual([name]);
  expect(typo).toContain(`${meant}?`);
});

test.each(tables.others)('%s gives no warning', (_, env) => {
  expect(envTypos(env)).toEqual([]);
});

test('a typo is only a warning: the program starts', () => {
  const { warnings } = loadConfig({ flags: { node: 'node-a' }, env: { MAX_NODE: '5' }, readText: () => '' });
  expect(subjectsOf(warnings)).toEqual(['MAX_NODE']);
});
