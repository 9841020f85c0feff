/** The shared directory, which knows who had an address, and the client with which agents ask it. */
export { createAuthenticator } from './authenticator.ts';
export { type Certificate, createCertificate } from './certificate.ts';
export { createDirectoryFinder } from './client.ts';
export { createPodWatch, createPublication, ownersIn, startDirectoryServer } from './server.ts';
