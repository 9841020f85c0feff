/** Answers HTTP requests of anyone who can connect: bounded connections, one request of each at a time, and no body. */
export { type Answer, type Asked, type Refusal } from './requests.ts';
export { type ConnectionLimits } from './connections.ts';
export { type RequestServer, type ServingOptions, startServing } from './listening.ts';
