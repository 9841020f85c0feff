/** Answers HTTP requests of anyone who can connect: bounded connections, one request of each at a time, and no body. */
export { type HttpRefusal, type RequestHead, type ServedAnswer } from './requests.ts';
export { type ConnectionLimits } from './connections.ts';
export { type RequestServer, type ServingOptions, startServing } from './listening.ts';
