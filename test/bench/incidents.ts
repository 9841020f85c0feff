/**
 * `npm run bench -- incidents`: how long it takes from a failure line in the log of a container to Events at a real API server, and how
 * many writes an hour of failures makes.
 *
 *     npm run bench -- incidents             all, about four minutes
 *     npm run bench -- incidents --quick  without a real API server
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/events/describe.ts';
import { createAgentRig } from '../e2e/agent-rig.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { preparePrograms } from '../programs/install.ts';
import { latency } from './incidents/latency.ts';
import { writes } from './incidents/writes.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });

await preparePrograms('measuring');
const rows = [['what', 'figure'], ...writes()];
if (!values.quick) {
  const plane = await startControlPlane();
  try {
    const rig = await createAgentRig(plane);
    rows.push(...(await latency(plane, rig)));
    rmSync(rig.folder, { recursive: true });
  } finally {
    await plane.stop();
  }
}
console.log(`\n${alignColumns(rows).join('\n')}`);
