// Packs the launcher and one platform's binary:
//
//     node packaging/npm/pack.mjs <binary> <platform> <folder for the packed files>

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');
const [binary, platform, out] = process.argv.slice(2);
if (!out || !PLATFORMS.includes(platform)) {
  console.error(`usage: pack.mjs <binary> <${PLATFORMS.join('|')}> <folder>`);
  process.exit(2);
}

// The workspace's version is the only one that is written down.
const version = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/ms.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))[1];
const launcher = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));

const stage = mkdtempSync(join(tmpdir(), 'counterfoil-pack-'));
try {
  mkdirSync(out, { recursive: true });
  pack('launcher', {
    ...launcher,
    version,
    optionalDependencies: Object.fromEntries(PLATFORMS.map((name) => [`@counterfoil/${name}`, version])),
  }, (folder) => cpSync(join(here, 'bin'), join(folder, 'bin'), { recursive: true }));

  const [os, cpu] = platform.split('-');
  pack('platform', {
    name: `@counterfoil/${platform}`,
    version,
    description: `The binary of counterfoil for ${platform}`,
    license: launcher.license,
    repository: launcher.repository,
    os: [os],
    cpu: [cpu],
    ...(os === 'linux' && { libc: ['glibc'] }),
    files: ['bin'],
  }, (folder) => {
    mkdirSync(join(folder, 'bin'));
    copyFileSync(binary, join(folder, 'bin', 'counterfoil'));
    chmodSync(join(folder, 'bin', 'counterfoil'), 0o755);
  });
} finally {
  rmSync(stage, { recursive: true });
}

function pack(name, manifest, fill) {
  const folder = join(stage, name);
  mkdirSync(folder);
  fill(folder);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', resolve(out)];
  console.log(execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }).trim());
}
