/** The shared directory, which answers whose an address was, and its client in the agent. */
export { createAuthenticator } from './authenticator.ts';
export { type Certificate, createCertificate } from './certificate.ts';
export { createDirectoryFinder } from './client.ts';
export { createPodWatch, createPublication, ownersIn, startDirectoryServer } from './server.ts';
