/**
 * Does what `docker` would (programs.ts): Buildah builds, and a push puts the image on the nodes, which have no registry to pull from.
 *
 *   node docker.ts build TARGET REFERENCE CONTEXT
 *   node docker.ts push REFERENCE CLUSTER           the file with the data of the cluster
 */
import { readFileSync } from 'node:fs';
import { type ClusterData, connectCluster } from './cluster.ts';
import { buildAgentImage } from './images.ts';

const [, , command, first = '', second = '', third] = process.argv;
if (command === 'build') await buildAgentImage(first, second, third);
else await connectCluster(JSON.parse(readFileSync(second, 'utf8')) as ClusterData).load(first);
