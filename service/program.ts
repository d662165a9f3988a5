/**
 * What the programs that serve have in common: settings from the environment, log lines, an orderly stop, and exit
 * codes that say why.
 */
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { Command } from 'commander';
import { messageOf } from '../engine/report.js';
import { ConfigError, parseConfig, publicConfig, settingsHelp, type Config, type SettingName } from './config.js';
import { spaceOf } from './machine/disk.js';
import { diskFullText } from './machine/disk-full.js';
import { BAD_CONFIGURATION, isBadConfiguration } from './exit-codes.js';
import { createLogger, type Logger } from './logger.js';
import { stopOnSignals, type StopStep } from './stop.js';

export interface Program {
  /** The command's name in its help. */
  readonly name: string;
  /** What it runs, as the subject of a sentence: `the exchange`. */
  readonly what: string;
  readonly description: string;
  /** Settings that the program ignores. */
  readonly unused: readonly SettingName[];
  /** Further help, after the settings. */
  readonly help?: string;
  /** How long all steps of a stop together may take. */
  readonly stopWithinMs: (config: Config) => number;
  /** Works until it rejects with the reason why it cannot go on. */
  readonly run: (running: Running) => Promise<never>;
}

export interface Running {
  readonly config: Config;
  readonly logger: Logger;
  /** What ends everything that was started so far, in order: add to its front. */
  readonly steps: StopStep[];
  /** Begins the stop that a signal would begin. */
  readonly stop: () => Promise<void>;
  /**
   * Called when the start is over: a later error is logged with its stack, since another start may not show it again.
   */
  readonly serves: () => void;
}

/** Runs a program whose settings are environment variables. Resolves when it has begun to end. */
export async function runProgram({ name, what, description, unused, help = '', stopWithinMs, run }: Program, environment: NodeJS.ProcessEnv): Promise<void> {
  await new Command(name).description(`${description} It takes no arguments; settings are environment variables.`)
    .addHelpText('after', `\nSettings:\n${settingsHelp()}${help}`)
    .action(async () => {
      const config = configOf(environment);
      if (config === undefined) return;
      const logger = createLogger(config);
      logger.info(publicConfig(config, unused), 'starting');
      const steps: StopStep[] = [];
      let stopping = false;
      const stop = stopOnSignals(process, {
        begun: () => { stopping = true; }, steps, timeoutMs: stopWithinMs(config), exit: (code) => { process.exit(code); }, log: (line) => { logger.info(line, 'stopping'); },
      });
      let serving = false;
      try {
        await run({ config, logger, steps, stop, serves: () => { serving = true; } });
      } catch (error) {
        // A start that was given up for the stop: the stop tells its own end.
        if (stopping && !serving) return;
        const text = await diskFullText(error, { dataDir: resolve(config.dataDir), spaceOf }) ?? messageOf(error);
        const { lastLines } = error as { readonly lastLines?: readonly string[] };
        const fields = { error: inspect(error), ...lastLines === undefined ? {} : { lastLines } };
        if (serving) logger.fatal(fields, `${what} cannot go on: ${text}`);
        else {
          logger.fatal(`${what} cannot start: ${text}`);
          logger.debug(fields, 'where the start failed');
        }
        const { exitCode = isBadConfiguration(error) ? BAD_CONFIGURATION : 1 } = error as { readonly exitCode?: number };
        await stop(exitCode);
      }
    })
    .parseAsync();
}

/** The settings; undefined, and all faults told, when they are wrong. */
function configOf(environment: NodeJS.ProcessEnv): Config | undefined {
  try {
    return parseConfig(environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = BAD_CONFIGURATION;
    return undefined;
  }
}
