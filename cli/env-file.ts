/** The `.env` beside the configuration. What the environment has already wins, and no value is ever shown. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseEnv } from 'node:util';
import { CommandError, messageOf } from './command-error.js';
import { findConfig } from './config-file.js';

/** Sets what is missing in `env`, and gives a line about it; undefined where there is no such file. */
export function loadEnvFile(cwd: string, namedConfig: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const config = findConfig(cwd, namedConfig);
  const path = join(config.builtIn ? cwd : dirname(config.path), '.env');
  // Some keep a virtual environment of Python in a folder of this name.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const missing = Object.entries(parsed(path)).filter(([name]) => env[name] === undefined);
  for (const [name, value] of missing) env[name] = value;
  const taken = missing.map(([name]) => name).join(', ');
  return `read ${relative(cwd, path)}: ${taken === '' ? 'all that it has is set already' : taken}`;
}

function parsed(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${messageOf(error)}. Correct it, or move it away.`);
  }
}
