/** The shared directory, which knows the Pods and Nodes of each address, and the client by which agents ask it. */
export { createAuthenticator } from './authenticator.ts';
export { type Certificate, createCertificate } from './certificate.ts';
export { createDirectoryFinder } from './client.ts';
export { createPodWatch, createPublication, ownersIn, startDirectoryServer } from './server.ts';
