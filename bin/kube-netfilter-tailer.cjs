#!/usr/bin/env node
'use strict';
// What the npm package starts. Words of 2009 only, because it must be understood by whatever Node.js there is: an older one would
// show a syntax error of the bundle and not what is missing.
var engines = require('../package.json').engines;
var needed = engines.node.replace('>=', '');
var found = process.versions.node;

if (isOlder(found.split('.').map(Number), needed.split('.').map(Number))) {
  console.error(
    'kube-netfilter-tailer needs Node.js ' +
      needed +
      ' or newer; this is ' +
      found +
      ' (' +
      process.execPath +
      ').\n' +
      'Without changing what is installed: npx --package=node@24 --package=kube-netfilter-tailer kube-netfilter-tailer COMMAND',
  );
  process.exitCode = 1;
} else {
  // oxlint-disable-next-line import/no-unassigned-import -- it is a program
  require('../dist/kube-netfilter-tailer.cjs');
}

function isOlder(version, than) {
  return version[0] < than[0] || (version[0] === than[0] && version[1] < than[1]);
}
