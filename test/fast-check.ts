import fc from 'fast-check';

/**
 * Generated tests see the same programs in every run, so that a red run is never a matter of luck. `npm run fuzz` takes
 * new ones; what it finds becomes a row in a table.
 */
if (process.env['FUZZ'] === undefined) fc.configureGlobal({ seed: 20_261_121 });
