/** What the tests' Kafka broker needs: Java, and Apache Kafka's jars, which Maven copies once from Maven Central into `.build/kafka`. */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const POM = join(ROOT, 'test', 'support', 'kafka-pom.xml');
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const DEFAULT_VERSION = '3.9.1';

/** The version that KAFKA_VERSION names. */
export function kafkaVersion(): string {
  const { KAFKA_VERSION: version = '' } = process.env;
  if (version !== '' && !/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`KAFKA_VERSION is ${version}: expected a version as ${DEFAULT_VERSION}`);
  return version === '' ? DEFAULT_VERSION : version;
}

/** The folder with all jars of that version; a folder that is there is complete. Throws Error that says what to install. */
export async function kafkaJars(version: string, cache = join(ROOT, '.build', 'kafka')): Promise<string> {
  // Another list of what is needed is another folder.
  const jars = join(cache, `${version}-${hash('sha256', await readFile(POM)).slice(0, 8)}`);
  if (await isThere(jars)) return jars;
  await mkdir(cache, { recursive: true });
  const partial = await mkdtemp(join(cache, '.partial-'));
  try {
    await runProgram('mvn', [
      '--batch-mode', '--quiet', '--file', POM, `-Dkafka.version=${version}`, COPY,
      '-DincludeScope=runtime', `-DoutputDirectory=${partial}`,
    ]);
    // Another run may have been faster.
    await rename(partial, jars).catch(async (error: unknown) => { if (!await isThere(jars)) throw error; });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return jars;
}

/** What the program writes. Throws Error with the end of its output, or that says what to install where the program is missing. */
export async function runProgram(program: 'java' | 'mvn', args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { timeout: 600_000, maxBuffer: 16 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw missing(program);
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} failed:\n${`${stdout}${stderr}`.slice(-4_000)}`, { cause: error });
  }
}

/** No test is left out for it. */
export function missing(program: string): Error {
  return new Error(`${program} is not installed, and the tests with Kafka's broker need Java 17 or later and Maven: .ci/java installs both on Debian`);
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
