import type { SignRow } from './sign-row.ts';

const time = '2026-03-14 09:15:20.101';
const info = (place: string, text: string) => `I0314 09:15:20.101234       1 ${place}] ${text}`;
const error = (place: string, text: string) => `E0314 09:15:20.101234       1 ${place}] ${text}`;

/** Lines of the same programs, and lines that resemble failures, that say nothing of an incident. */
export const quietLines: readonly SignRow[] = Object.entries({
  // kube-proxy at work
  starts: info('server.go:680', '"Version info" version="v1.36.3"'),
  mode: info('server_linux.go:150', '"Using iptables Proxier"'),
  'begins a sync': info('proxier.go:668', '"Syncing iptables rules" ipFamily="IPv4" fullSync=true'),
  reloads: info('proxier.go:1389', '"Reloading service iptables data" ipFamily="IPv4" numServices=12 numEndpoints=20'),
  'an INFO line that quotes a rule': info(
    'proxier.go:1397',
    '"Restoring iptables" rules="-A KUBE-SERVICES -j KUBE-SVC-Q5DTBKX2YJ7RCW6N # Couldn\'t load target"',
  ),
  'a failure as information': info(
    'proxier.go:1406',
    '"Failed to execute iptables-restore" err="exit status 2: iptables-restore v1.8.8 (legacy): Couldn\'t load target `KUBE-SVC-Q5DTBKX2YJ7RCW6N\':No such file or directory"',
  ),
  'a Service named like a lock': info(
    'servicechangetracker.go:106',
    '"Service updated ports" service="shop/holding-the-xtables-lock" portCount=1',
  ),
  'a Service named like a failure': error(
    'service_health.go:206',
    '"Healthcheck closed" err="failed" service="shop/failed-to-execute-iptables-restore"',
  ),
  'the lock in the name of a Service': error(
    'servicechangetracker.go:228',
    '"Service port does not exists" portName="holding the xtables lock"',
  ),
  'no IPv6': info(
    'server_linux.go:170',
    '"No iptables support for family" ipFamily="IPv6" error="error creating chain: exit status 3: ip6tables v1.8.9 (legacy): can\'t initialize ip6tables table `nat\': Table does not exist (do you need to insmod?)"',
  ),
  'configuration, a hint': error(
    'server.go:265',
    '"Kube-proxy configuration may be incomplete or incorrect" err="nodePortAddresses is unset"',
  ),
  'ipvs is deprecated': error(
    'server_linux.go:196',
    '"The ipvs proxier is now deprecated and may be removed in a future release. Please use \'nftables\' instead."',
  ),
  'node ports': error(
    'proxier.go:1310',
    '"Failed to get node ip address matching nodeport cidrs, services with nodeport may not work as intended" err="no addresses" CIDRs=["10.0.0.0/8"]',
  ),
  'health check': error(
    'proxier.go:1433',
    '"Error syncing healthcheck services" err="listen tcp :31000: bind: address already in use"',
  ),
  'a metrics address without a port':
    'E1012 07:25:50.358481  510997 server.go:661] starting metrics server failed: listen tcp: address 0.0.0.0: missing port in address',
  'API server, reflector': error(
    'reflector.go:200',
    '"Failed to watch" err="Get \\"https://10.0.0.1:6443/api/v1/services\\": dial tcp 10.0.0.1:6443: connect: connection refused" type="*v1.Service"',
  ),
  'modprobe within a container, old':
    'W0604 21:21:41.650330       1 proxier.go:498] Failed to load kernel module ip_vs with modprobe. You can ignore this message when kube-proxy is running inside container without mounting /lib/modules',
  clusterCIDR:
    'W0314 09:15:20.101234       1 proxier.go:468] clusterCIDR not specified, unable to distinguish between internal and external traffic',
  'canary deleted': info('iptables.go:612', '"IPTables canary deleted" table="mangle" chain="KUBE-PROXY-CANARY"'),
  'cleanup of another mode, table missing': error(
    'cleanup.go:61',
    '"Failed to execute iptables-save" err="exit status 3" table="nat"',
  ),
  'cleanup of another mode, a line failed': error(
    'cleanup.go:116',
    '"Failed to execute iptables-restore" err="exit status 1: iptables-restore: line 7 failed\\n" table="filter"',
  ),
  'cleanup, removing a rule': error(
    'cleanup.go:52',
    '"Error removing pure-iptables proxy rule" err="error checking rule: exit status 4: Another app is currently holding the xtables lock."',
  ),
  'a flag': info('flags.go:64', 'FLAG: --iptables-sync-period="30s"'),
  'Sync in a sentence': info('bounded_frequency_runner.go:296', '"sync-runner: Sync failed is not what happened"'),
  'conntrack entries of a Service that is gone': error(
    'cleanup.go:151',
    '"Failed to clear all conntrack entries" err="interrupted" ipFamily="IPv4" entriesDeleted=3',
  ),
  config: info('config.go:313', '"Starting service config controller"'),
  caches: info('shared_informer.go:320', '"Caches are synced" controller="node config"'),
  'command failed after running': error(
    'run.go:72',
    '"command failed" err="open /proc/sys/net/netfilter/nf_conntrack_max: no such file or directory"',
  ),
  // Other programs with klog
  'the kubelet':
    'Mar 14 09:15:20 node-a kubelet[812]: E0314 09:15:20.101234     812 kubelet.go:2300] "Failed to execute iptables-restore" err="holding the xtables lock"'.slice(
      23,
    ),
  // felix at work
  summary: `${time} [INFO][68] felix/summary.go 100: Summarising 18 dataplane reconciliation loops over 1m3s: avg=26ms longest=268ms (resync-filter-v4,resync-nat-v4)`,
  'took long': `${time} [INFO][68] felix/table.go 1107: Updating iptables took >1s applyTime=1.5s reasonForApply="refresh timer"`,
  'a chain is wanted': `${time} [INFO][68] felix/table.go 684: Chain became referenced, marking it for programming chainName="cali-pi-failed-to-program-iptables"`,
  'an unexpected chain': `${time} [INFO][68] felix/table.go 825: Found unexpected chain, marking for cleanup chainName="cali-old"`,
  'retrying, told before': `${time} [WARNING][68] felix/table.go 1168: Retrying... error=exit status 2 ipVersion=0x4 table="filter"`,
  'cleans up another backend': `${time} [WARNING][68] felix/table.go 1172: Failed to clean up iptables, will retry on the next refresh error=exit status 1 table="filter"`,
  'a profile that is gone for a moment': `${time} [INFO][68] felix/active_rules_calculator.go 456: One or more endpoints uses a profile that doesn't exist; generating default-drop profile. (This can happen transiently when a Kubernetes namespace is deleted.) profileID="kns.shop"`,
  'shuts down': `${time} [WARNING][68] felix/daemon.go 847: Felix is shutting down reason="config changed"`,
  exits: `${time} [FATAL][68] felix/daemon.go 915: Exiting. reason="config changed"`,
  'exits at once': `${time} [FATAL][68] felix/daemon.go 929: Exiting immediately reason="Received a fatal signal"`,
  'the panic of a line before': 'panic: (*logrus.Entry) 0xc000340620',
  'a policy named like a failure': `${time} [INFO][68] felix/policy_manager.go 90: Policy update id="Detected out-of-sync inserts, marking for resync"`,
  'the words, not at the beginning': `${time} [WARNING][68] felix/usage.go 10: Saw this: Failed to program iptables, giving up after retries`,
  'a resync as information': `${time} [INFO][68] felix/table.go 790: Detected out-of-sync Calico chain, marking for resync chainName="cali-x"`,
  'a watch ends': `${time} [INFO][68] felix/watchercache.go 237: Watch of resource finished. Attempting to restart it... ListRoot="/calico/resources/v3/projectcalico.org/ippools"`,
  'an API that answers': `${time} [INFO][68] felix/watchercache.go 379: Failed to perform list of current data during resync error=resource does not exist: BlockAffinity`,
  'the API says no': `${time} [ERROR][9] startup/client.go 381: Error getting cluster information config ClusterInformation="default" error=clusterinformations.crd.projectcalico.org "default" is forbidden`,
  // confd and bird at work
  recompute: `${time} [INFO][2465813] confd/client.go 1036: Recompute BGP peerings: HostBGPConfig(node=node-a; name=ip_addr_v4) updated; node-a updated`,
  sessions: `${time} [INFO][3875] confd/health.go 180: Number of node(s) with BGP peering established = 3`,
  'starting, graceful restart': 'calico/node is not ready: BIRD is not ready: graceful restart in progress',
  'felix is not ready yet': 'calico/node is not ready: felix is not ready: readiness probe reporting 503',
  connecting: 'bird: Mesh_10_254_77_1: Connecting to 10.254.77.1 from local address 10.40.0.0',
  delayed: 'bird: Mesh_10_254_77_1: Connect delayed by 5 seconds',
  up: 'bird: Mesh_10_0_1_7: State changed to up',
  'start, a rolling restart': 'bird: Mesh_10_0_1_7: State changed to start',
  'down, a rolling restart': 'bird: Mesh_10_0_1_7: State changed to down',
  'ceased, a rolling restart': 'bird: Mesh_10_0_1_7: Received: Administrative shutdown',
  reset: 'bird: Mesh_10_0_1_7: Received: Connection reset',
  reconfigured: 'bird: Reconfiguration requested by SIGHUP',
  'graceful restart': 'bird: Graceful restart done',
  svlogd: '2016-06-15_07:05:27.75862 bird: device1: Initializing',
  'a route named like it': 'bird: Mesh_10_0_1_7 > added [best] 10.244.3.0/26 via 10.0.1.7 on eth0 # Hold timer expired',
}).map(([name, text]) => ({ name: `nothing: ${name}`, text, sign: undefined }));
