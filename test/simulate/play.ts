/** A thread that plays one scenario, and posts its results. */
import { parentPort, workerData } from 'node:worker_threads';
import { scenarios } from './scenarios.ts';
import { simulate, type Size } from './simulation.ts';

export interface PlayRequest {
  scenario: string;
  size: Size;
}

const { scenario: name, size } = workerData as PlayRequest;
const scenario = scenarios.find((each) => each.name === name);
if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
parentPort?.postMessage(await simulate(scenario, size)); // oxlint-disable-line unicorn/require-post-message-target-origin -- a port of a thread has no origin
