/*
 * Lines that only resemble errors. What programs log of their work, with values in it that look like the failures that are looked
 * for: names, comments and texts that come from users, from the API server or from other programs.
 */

/** Error texts and names as they may stand in any field of any line. */
const values: readonly string[] = [
  'Another app is currently holding the xtables lock. Stopped waiting after 5s.',
  "iptables-restore v1.8.8 (legacy): Couldn't load target `KUBE-SVC-UOLAULR5MHUYULMB':No such file or directory",
  'Failed to execute iptables-restore',
  'nf_conntrack: table full, dropping packet',
  'BIRD is not ready: BGP not established with 10.0.0.2; Detected out-of-sync inserts, Sync failed',
];

const klog = (severity: string, place: string) => (message: string, value: string) =>
  `${severity}1121 09:00:00.910840       1 ${place}] "${message}" name=${JSON.stringify(value)} service="shop/web"`;
const klogOld = (severity: string, place: string) => (message: string, value: string) =>
  `${severity}1121 09:00:00.910840       1 ${place}] ${message}: ${value}`;
const logrus = (severity: string, place: string) => (message: string, value: string) =>
  `2026-11-21 09:00:00.942 [${severity}][56] ${place} 654: ${message} id=${JSON.stringify(value)} ipVersion=0x4`;
const bird = (message: string, value: string) => `bird: ${message}: ${value.split(';')[0]}`;
const coredns = (severity: string) => (message: string, value: string) => `[${severity}] ${message}: ${value}`;

type Write = (message: string, value: string) => string;

/** Lines of each program when nothing is wrong with its rules, twelve each. */
const lines: Readonly<Record<string, readonly (readonly [Write, message: string])[]>> = {
  'kube-proxy': [
    [klog('I', 'proxier.go:668'), 'Syncing iptables rules'],
    [klog('I', 'proxier.go:1389'), 'Reloading service iptables data'],
    [klog('I', 'proxier.go:1397'), 'Restoring iptables'],
    [klog('I', 'servicechangetracker.go:106'), 'Service updated ports'],
    [klog('E', 'proxier.go:1433'), 'Error syncing healthcheck services'],
    [klog('E', 'service_health.go:206'), 'Healthcheck closed'],
    [klog('E', 'proxier.go:900'), 'Failed to delete stale service connections'],
    [klog('E', 'reflector.go:205'), 'Failed to watch'],
    [klog('E', 'event_broadcaster.go:270'), 'Server rejected event (will not retry!)'],
    [klog('W', 'warnings.go:70'), 'discovery.k8s.io/v1beta1 EndpointSlice is deprecated'],
    [klogOld('E', 'leaderelection.go:330'), 'error retrieving resource lock'],
    [klogOld('W', 'reflector.go:533'), 'watch of *v1.Service ended with'],
  ],
  felix: [
    [logrus('INFO', 'felix/int_dataplane.go'), 'Received interface update'],
    [logrus('INFO', 'felix/calc_graph.go'), 'Local endpoint updated'],
    [logrus('INFO', 'felix/table.go'), 'Loading current iptables state and checking it is correct.'],
    [logrus('WARNING', 'felix/route_table.go'), 'Failed to access interface but it now appears to be up'],
    [logrus('WARNING', 'felix/active_rules_calculator.go'), 'Network policy references a tag'],
    [logrus('ERROR', 'felix/usagerep.go'), 'Failed to report usage'],
    [logrus('WARNING', 'felix/l3_route_resolver.go'), 'Unable to create route for IP; the node it belongs to'],
    [logrus('INFO', 'felix/summary.go'), 'Summarising 12 dataplane reconciliation loops over 1m2s'],
    [logrus('WARNING', 'felix/health.go'), 'Reporter is not ready'],
    [logrus('INFO', 'felix/endpoint_mgr.go'), 'Updating per-endpoint chains.'],
    [logrus('DEBUG', 'felix/table.go'), 'Failed to execute ip(6)tables-restore command'],
    [logrus('INFO', 'felix/table.go'), 'Failed to program iptables, will retry'],
  ],
  confd: [
    [logrus('INFO', 'confd/client.go'), 'Recompute BGP peerings'],
    [logrus('INFO', 'confd/resource.go'), 'Target config /etc/calico/confd/config/bird.cfg out of sync'],
    [logrus('INFO', 'confd/resource.go'), 'Target config has been updated'],
    [logrus('INFO', 'confd/client.go'), 'Source SourceRouteGenerator readiness changed, ready=true'],
    [logrus('WARNING', 'confd/client.go'), 'Unable to parse BGP configuration value'],
    [logrus('ERROR', 'confd/resource.go'), 'Error from checkcmd'],
    [logrus('INFO', 'confd/peers.go'), 'Number of node(s) with BGP peering established = 3'],
    [logrus('WARNING', 'confd/client.go'), 'Node does not have an address, skipping'],
    [logrus('INFO', 'confd/secret_watcher.go'), 'Secret event'],
    [logrus('DEBUG', 'confd/processor.go'), 'Key prefix set'],
    [logrus('INFO', 'confd/config.go'), 'Skipping confd config file.'],
    [logrus('WARNING', 'confd/client.go'), 'Failed to parse community value'],
  ],
  bird: [
    [bird, 'device1: Scanning interfaces'],
    [bird, 'kernel1: Scanning routing table'],
    [bird, 'Mesh_10_0_0_2: State changed to start'],
    [bird, 'Mesh_10_0_0_2: Connected'],
    [bird, 'Mesh_10_0_0_2: BGP session established'],
    [bird, 'Mesh_10_0_0_2: Received: Connection collision resolution'],
    [bird, 'Mesh_10_0_0_2: Connect delayed by 5 seconds'],
    [bird, 'Mesh_10_0_0_2: Startup delayed by 60 seconds'],
    [bird, 'Reconfiguration requested by SIGHUP'],
    [bird, 'Reconfigured'],
    [bird, 'KRT: Received route with unknown ifindex 7'],
    [bird, 'Graceful restart done'],
  ],
  kubelet: [
    [klog('E', 'kubelet_network_linux.go:83'), 'Failed to ensure that iptables hint chain exists'],
    [klog('E', 'kubelet_network_linux.go:50'), 'Failed to ensure that OUTPUT chain jumps to KUBE-FIREWALL'],
    [klog('E', 'kubelet.go:2300'), 'Skipping pod synchronization'],
    [klog('E', 'kubelet_node_status.go:540'), 'Error updating node status, will retry'],
    [klog('I', 'kubelet_network.go:61'), 'Updating Pod CIDR'],
    [klog('E', 'kubelet_pods.go:400'), 'Hostname for pod was too long, truncated it'],
    [klogOld('E', 'kubelet_getters.go:300'), 'Could not get instance ID from cloud provider'],
    [klog('W', 'kubelet_pods.go:900'), 'Unable to retrieve pull secret, the image pull may not succeed.'],
    [klog('E', 'kubelet_volumes.go:245'), 'There were many similar errors. Turn up verbosity to see them.'],
    [klog('I', 'kubelet.go:2421'), 'SyncLoop (PLEG): event for pod'],
    [klog('I', 'kubelet.go:2400'), 'SyncLoop UPDATE'],
    [klog('F', 'kubelet.go:1400'), 'Kubelet failed to start'],
  ],
  coredns: [
    [
      coredns('INFO'),
      '10.244.0.7:38593 - 34165 "A IN kube-proxy. udp 41 false 512" NXDOMAIN qr,aa,rd 116 0.000150166s',
    ],
    [coredns('ERROR'), 'plugin/errors: 2 iptables-restore.shop.svc.cluster.local. A'],
    [coredns('WARNING'), 'plugin/kubernetes: starting server with unsynced Kubernetes API'],
    [coredns('INFO'), 'plugin/ready: Still waiting on'],
    [coredns('ERROR'), 'plugin/kubernetes: Failed to list *v1.Service'],
    [coredns('WARNING'), 'plugin/health: Local health request to "http://:8080/health" took more than 1s'],
    [coredns('INFO'), 'SIGTERM: Shutting down servers then terminating'],
    [coredns('FATAL'), 'plugin/loop: Loop (127.0.0.1:55953 -> :1053) detected for zone "."'],
    [coredns('ERROR'), 'plugin/forward: no healthy upstreams'],
    [coredns('INFO'), 'plugin/reload: Running configuration SHA512'],
    [coredns('WARNING'), 'No files matching import glob pattern'],
    [coredns('PANIC'), 'Recovered from panic in server'],
  ],
};

/** Sixty of each program. */
export const nastyLines: readonly (readonly [program: string, texts: readonly string[]])[] = Object.entries(lines).map(
  ([program, all]) => [program, all.flatMap(([write, message]) => values.map((value) => write(message, value)))],
);
