/**
 * Loaded by an agent under test before its bundle (`node --import`). At each SIGUSR2 it collects its garbage and prints
 * how much of the heap is still in use.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('SIGUSR2', () => {
  collect();
  process.stdout.write(`${JSON.stringify({ heapAfterCollection: process.memoryUsage().heapUsed })}\n`);
});
