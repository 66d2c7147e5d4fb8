/** The application in this folder, or the one that the flags name. It is loaded only where that is needed, and once. */
import type { Registry } from '../kit/registry.js';
import { dataDirFor, findConfig } from './config-file.js';
import type { ConfigFile } from './config-file.js';
import { loadRegistry } from './load-config.js';
import type { FoundBy } from './repeat-flags.js';

export interface Application {
  config: ConfigFile;
  dataDir: string;
  registry(): Promise<Registry>;
}

export function findApplication(flags: FoundBy): Application {
  const cwd = process.cwd();
  const config = findConfig(cwd, flags.config);
  let registry: Promise<Registry> | undefined;
  return {
    config,
    dataDir: dataDirFor(cwd, config, flags.dataDir),
    registry: () => (registry ??= loadRegistry(config)),
  };
}
