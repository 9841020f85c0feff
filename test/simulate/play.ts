/** A thread that plays one scenario, and posts its results. */
import { parentPort, workerData } from 'node:worker_threads';
import { scenarioNamed } from './scenarios.ts';
import { simulate, type Size } from './simulation.ts';

export interface PlayRequest {
  scenario: string;
  size: Size;
}

const { scenario, size } = workerData as PlayRequest;
parentPort?.postMessage(await simulate(scenarioNamed(scenario), size)); // oxlint-disable-line unicorn/require-post-message-target-origin -- a port of a thread has no origin
