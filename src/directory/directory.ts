/** Runs the shared directory, which knows the Pods of addresses, and has its client for the agent. */
export { createAuthenticator } from './authenticator.ts';
export { type Certificate, createCertificate } from './certificate.ts';
export { createDirectoryFinder } from './client.ts';
export { createPodWatch, createPublication, ownersIn, startDirectoryServer } from './server.ts';
