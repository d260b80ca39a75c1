#!/usr/bin/env node
// Starts the binary of the platform's own package, and is it: same arguments, same streams, same signals, same end.
'use strict';

const { spawn } = require('node:child_process');

const platform = `${process.platform}-${process.arch}`;

function binary() {
  try {
    return require.resolve(`@counterfoil/${platform}/bin/counterfoil`);
  } catch {
    console.error(`counterfoil: there is no package @counterfoil/${platform} here. ` +
      'Either this platform has none, or it was left out (npm install --omit=optional).');
    process.exit(1);
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: 'inherit' });

// A terminal sends Ctrl-C to both; whoever kills this process alone means the child.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => { if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal); });
}

child.on('error', (error) => {
  console.error(`counterfoil: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const each of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(each);
  process.kill(process.pid, signal);
});
