import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostAndPort } from '../../../../src/base/platform/address.ts';
import { chainHash, hashedTexts, parseChainName } from '../../../../src/explain/resolving/service-chains/chain-name.ts';
import type { ServiceProtocol } from '../../../../src/explain/resolving/objects.ts';
import { forAll } from '../../../for-all.ts';

/** Names of chains. */
const tables: {
  ofNoService: string[];
  nftables: [string, object][];
  iptables: [string, string][];
  ofNone: [string][];
} = {
  // Chains in iptables mode that do not belong to a single Service.
  ofNoService: [
    '',
    'KUBE-SVC-',
    'KUBE-SVC-NPX46M4PTMTKRN6',
    'KUBE-SVC-NPX46M4PTMTKRN6YA',
    'KUBE-SVC-NPX46M4PTMTKRN61',
    'KUBE-SVC-npx46m4ptmtkrn6y',
    'kube-svc-NPX46M4PTMTKRN6Y',
    'KUBE-HP-NPX46M4PTMTKRN6Y',
    ' KUBE-SVC-NPX46M4PTMTKRN6Y',
    'KUBE-SVC-NPX46M4PTMTKRN6Y\n',
    'KUBE-MARK-MASQ',
    'nat-postrouting',
    'constructor',
  ],
  // Chains in nftables mode, and their owners. Addresses are written as in RFC 5952 (4.2.2).
  nftables: [
    [
      'service-2QRHZV4L-default/kubernetes/tcp/https',
      { namespace: 'default', service: 'kubernetes', protocol: 'tcp', port: 'https' },
    ],
    [
      'service-P4ZYZVCF-testing/service/tcp/http',
      { namespace: 'testing', service: 'service', protocol: 'tcp', port: 'http' },
    ],
    [
      'local-P4ZYZVCF-testing/service/tcp/http',
      { namespace: 'testing', service: 'service', protocol: 'tcp', port: 'http' },
    ],
    [
      'external-P4ZYZVCF-testing/service/tcp/http',
      { namespace: 'testing', service: 'service', protocol: 'tcp', port: 'http' },
    ],
    [
      'firewall-P4ZYZVCF-testing/service/tcp/http',
      { namespace: 'testing', service: 'service', protocol: 'tcp', port: 'http' },
    ],
    [
      'service-LZBRENCP-testing/service/tcp/https',
      { namespace: 'testing', service: 'service', protocol: 'tcp', port: 'https' },
    ],
    [
      'external-KR6NACJP-very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx/very-long-service-name-why-would-you-even-do-this-i-mean-really/sctp/port-443-providing-the-hypertext-transmission-protocol-with-tls',
      {
        namespace: 'very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx',
        service: 'very-long-service-name-why-would-you-even-do-this-i-mean-really',
        protocol: 'sctp',
        port: 'port-443-providing-the-hypertext-transmission-protocol-with-tls',
      },
    ],
    [
      'endpoint-JO2XBXZR-testing/service/tcp/http__10.180.0.1/80',
      { namespace: 'testing', service: 'service', protocol: 'tcp', port: 'http', endpoint: '10.180.0.1:80' },
    ],
    [
      'affinity-5S6H3H22-testing/service/tcp/http__10.180.0.2/80',
      { namespace: 'testing', service: 'service', protocol: 'tcp', port: 'http', endpoint: '10.180.0.2:80' },
    ],
    [
      'endpoint-U7E2ET36-testing/service/tcp/http__fd80.abcd.12..a1b2.c3d4.e5f6.9999/80',
      {
        namespace: 'testing',
        service: 'service',
        protocol: 'tcp',
        port: 'http',
        endpoint: '[fd80:abcd:12:0:a1b2:c3d4:e5f6:9999]:80',
      },
    ],
    [
      'endpoint-5YS7AFEA-very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx/very-long-service-name-why-would-you-even-do-this-i-mean-really/sctp/port-443-providing-the-hypertext-transmission-protocol-with-tls__1234.5678.9abc.def0..abc.1234/443',
      {
        namespace: 'very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx',
        service: 'very-long-service-name-why-would-you-even-do-this-i-mean-really',
        protocol: 'sctp',
        port: 'port-443-providing-the-hypertext-transmission-protocol-with-tls',
        endpoint: '[1234:5678:9abc:def0::abc:1234]:443',
      },
    ],
    [
      'endpoint-CI6C53Q3-very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx/very-long-service-name-why-would-you-even-do-this-i-mean-really/sctp/port-443-providing-the-hypertext-transmission-protocol-with-tls__1234.5678.9abc.def0..abcd.1234...',
      {
        namespace: 'very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx',
        service: 'very-long-service-name-why-would-you-even-do-this-i-mean-really',
        protocol: 'sctp',
        port: 'port-443-providing-the-hypertext-transmission-protocol-with-tls',
      },
    ],
    [
      'affinity-2FLXFK6X-very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx/very-long-service-name-why-would-you-even-do-this-i-mean-really/sctp/port-443-providing-the-hypertext-transmission-protocol-with-tls__1234.5678.9abc.def0..abcd.1234...',
      {
        namespace: 'very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx',
        service: 'very-long-service-name-why-would-you-even-do-this-i-mean-really',
        protocol: 'sctp',
        port: 'port-443-providing-the-hypertext-transmission-protocol-with-tls',
      },
    ],
  ],
  // Chains in iptables mode.
  iptables: [
    ['KUBE-SVC-NPX46M4PTMTKRN6Y', 'service-hash'],
    ['KUBE-SVL-NPX46M4PTMTKRN6Y', 'service-hash'],
    ['KUBE-FW-NPX46M4PTMTKRN6Y', 'service-hash'],
    ['KUBE-EXT-NPX46M4PTMTKRN6Y', 'service-hash'],
    ['KUBE-XLB-NPX46M4PTMTKRN6Y', 'service-hash'],
    ['KUBE-SEP-NPX46M4PTMTKRN6Y', 'endpoint-hash'],
  ],
  // Chains in nftables mode that do not belong to a Service.
  ofNone: [
    ['testing/service/icmp/http'],
    ['testing/service/tcp'],
    ['/service/tcp/http'],
    ['testing/service/tcp/http/more'],
    ['testing/Service/tcp/http'],
  ],
};

/** RFC 4648, section 6, taken literally. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return [...bits.matchAll(/.{5}/g)]
    .map(([five]) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(five, 2)])
    .join('');
}

test('a hash is the truncated SHA-256 in base32', () => {
  forAll([fc.string()], {}, (text) => {
    const digest = createHash('sha256').update(text).digest();
    const hash = chainHash(text);
    expect(hash).toBe(base32(digest).slice(0, 16));
  });
});

test.each<[service: string, port: string, ServiceProtocol, hash: string]>([
  ['default/kubernetes', 'https', 'tcp', 'NPX46M4PTMTKRN6Y'],
  ['kube-system/kube-dns', 'dns', 'udp', 'TCOU7JCQXEZGVUNU'],
  ['default/nginx', '', 'tcp', '2CMXP7HKUVJN7L6M'],
])('matches names of a real kube-proxy: %s:%s %s is %s', (service, port, protocol, hash) => {
  const [namespace = '', name = ''] = service.split('/');
  expect(hashedTexts(namespace, name, port, protocol).map(chainHash)).toContain(hash);
});

test.each<[service: string, port: string, address: string, number: number, hash: string]>([
  ['ns1/svc1', 'p80', '10.180.0.1', 80, 'SXIVWICOYRO3J4NJ'],
  ['ns2/svc2', 'p8080', '10.0.2.1', 8080, 'UHEGFW77JX3KXTOV'],
])('matches names of a real kube-proxy: %s:%s at %s:%i is %s', (service, port, address, number, hash) => {
  const [namespace = '', name = ''] = service.split('/');
  const [text = ''] = hashedTexts(namespace, name, port, 'tcp');
  expect(chainHash(text + hostAndPort(address, number))).toBe(hash);
});

test('an unnamed port has two spellings', () => {
  expect(hashedTexts('default', 'nginx', '', 'tcp')).toEqual(['default/nginxtcp', 'default/nginx:tcp']);
  expect(hashedTexts('default', 'nginx', 'http', 'udp')).toEqual(['default/nginx:httpudp']);
});

test.each(tables.iptables)('in iptables mode: %s: %s', (chain, kind) => {
  expect(parseChainName(chain)).toEqual({ kind, hash: 'NPX46M4PTMTKRN6Y' });
});

test.each(tables.ofNoService)('in iptables mode: %j belongs to no single Service', (chain) => {
  expect(parseChainName(chain)).toBeUndefined();
});

/** The longest names: the rest never has more than 240 characters. */
const long =
  'very-long-namespace-name-abcdefghijklmnopqrstuvwxyz0123456789xx/very-long-service-name-why-would-you-even-do-this-i-mean-really/sctp/port-443-providing-the-hypertext-transmission-protocol-with-tls';
test.each(tables.nftables)('in nftables mode: %s', (chain, expected) => {
  expect(parseChainName(chain)).toEqual({ kind: 'service-port', endpoint: undefined, ...expected });
});

test('a port without a name', () => {
  const whole = 'default/nginx/tcp/';
  const chain = `service-${chainHash(whole).slice(0, 8)}-${whole}`;
  expect(parseChainName(chain)).toMatchObject({ namespace: 'default', service: 'nginx', port: '' });
});

test.each([
  ['of another hash', 'service-2QRHZV4M-default/kubernetes/tcp/https'],
  ['with an endpoint that should have none', 'service-JO2XBXZR-testing/service/tcp/http__10.180.0.1/80'],
  ['without an endpoint that should have one', 'endpoint-P4ZYZVCF-testing/service/tcp/http'],
  ['of another word', 'source-ranges-P4ZYZVCF-testing/service/tcp/http'],
  ['in quotes', '"service-P4ZYZVCF-testing/service/tcp/http"'],
  ['that is too long', `service-KR6NACJP-${long}${'x'.repeat(100)}`],
])('in nftables mode: a name %s belongs to no Service', (_, chain) => {
  expect(parseChainName(chain)).toBeUndefined();
});

test.each(tables.ofNone)('in nftables mode: %s has no Service, whatever its hash', (whole) => {
  expect(parseChainName(`service-${chainHash(whole).slice(0, 8)}-${whole}`)).toBeUndefined();
});

test.each(['__1.2.3/80', '__10.0.0.1', '__10.0.0.1/', '__10.0.0.1/123456', '__/80', '__...................../80'])(
  'an endpoint %s is refused, whatever its hash',
  (endpoint) => {
    const whole = `testing/service/tcp/http${endpoint}`;
    expect(parseChainName(`endpoint-${chainHash(whole).slice(0, 8)}-${whole}`)).toBeUndefined();
  },
);

test('any text is accepted without an exception', () => {
  forAll(
    [fc.string({ unit: 'binary', maxLength: 400 }), fc.constantFrom('KUBE-SVC-', 'service-', '')],
    {},
    (text, head) => {
      parseChainName(head + text);
    },
  );
});
