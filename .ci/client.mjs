#!/usr/bin/env node
// Installs the packages of client/ as its lock names them, where they are missing or others: the generators and wallets
// that tests of the API's clients use.
import { spawnSync } from 'node:child_process';
import console from 'node:console';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { URL, fileURLToPath } from 'node:url';

const folder = new URL('../client/', import.meta.url);

function read(file) {
  return JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
}

/** Undefined where the package is not there. */
function installedVersion(path) {
  try {
    return read(`${path}/package.json`).version;
  } catch {
    return undefined;
  }
}

/** Of an optional package, as a binary for another system is, it may be missing. */
function isInstalled([path, { version, optional = false }]) {
  const there = installedVersion(path);
  return there === version || (there === undefined && optional);
}

const packages = Object.entries(read('package-lock.json').packages).filter(([path]) => path !== '');
if (!packages.every(isInstalled)) {
  const options = ['--prefix', fileURLToPath(folder), '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status, error } = spawnSync('npm', ['ci', ...options], { stdio: ['ignore', 2, 2] });
  if (status !== 0) {
    console.error(`npm ci --prefix client has failed: ${error?.message ?? `code ${status}`}`);
    process.exit(1);
  }
}
