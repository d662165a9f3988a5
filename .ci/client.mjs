#!/usr/bin/env node
// Installs the packages of client/ as its lock names them, where they are missing or others: the generators and wallets
// that tests of the API's clients use.
import { spawnSync } from 'node:child_process';
import console from 'node:console';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { URL, fileURLToPath } from 'node:url';

const folder = new URL('../client/', import.meta.url);

/** The packages that a lock names, by path. */
function packagesIn(file) {
  const { packages } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
  delete packages[''];
  return packages;
}

/** Of an optional package, as a binary for another system is, it may be missing. */
function isInstalled() {
  try {
    const there = packagesIn('node_modules/.package-lock.json');
    return Object.entries(packagesIn('package-lock.json')).every(([path, { integrity, optional }]) => (
      path in there ? there[path].integrity === integrity : optional === true));
  } catch {
    return false;
  }
}

if (!isInstalled()) {
  const options = ['--prefix', fileURLToPath(folder), '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status, error } = spawnSync('npm', ['ci', ...options], { stdio: ['ignore', 2, 2] });
  if (status !== 0) {
    console.error(`npm ci --prefix client has failed: ${error?.message ?? `code ${status}`}`);
    process.exit(1);
  }
}
