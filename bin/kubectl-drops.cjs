#!/usr/bin/env node
'use strict';
// What kubectl finds as `kubectl drops`: the program looks at the name that it was started by.
// oxlint-disable-next-line import/no-unassigned-import -- it is a program
require('./kube-netfilter-tailer.cjs');
