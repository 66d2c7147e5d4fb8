/** Where the application's configuration is, and where its data goes: beside it. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandError } from './command-error.js';

const NAMES = ['perdure.config.ts', 'perdure.config.js', 'perdure.config.mjs'];

export interface ConfigFile {
  path: string;
  /** Nobody wrote one: the demo that comes with Perdure. */
  builtIn: boolean;
}

export function findConfig(cwd: string, named?: string): ConfigFile {
  if (named !== undefined) {
    const path = resolve(cwd, named);
    if (!existsSync(path)) throw new CommandError(`There is no configuration at ${path}. Check --config.`);
    if (!statSync(path).isFile())
      throw new CommandError(`${path} is no file. Give --config the file itself, like ${join(path, NAMES[0] ?? '')}.`);
    return { path, builtIn: false };
  }
  const found = NAMES.map((name) => join(cwd, name)).find((path) => existsSync(path));
  return found === undefined ? { path: demoPath(), builtIn: true } : { path: found, builtIn: false };
}

/** Beside the compiled rooms, or under `dist/` when the sources are run as they are. */
function demoPath(): string {
  const candidates = ['../examples/assistant/perdure.config.js', '../dist/examples/assistant/perdure.config.js'].map(
    (path) => fileURLToPath(new URL(path, import.meta.url)),
  );
  const found = candidates.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new CommandError(`The built-in demo is missing (looked for ${candidates.join(' and ')}). Run "npm run build".`);
}

/** Runs of one application share a folder, whichever command is used in it. */
export function dataDirFor(cwd: string, config: ConfigFile, named?: string): string {
  if (named !== undefined) return resolve(cwd, named);
  return join(config.builtIn ? cwd : dirname(config.path), '.perdure');
}

export function builtInNotice(cwd: string): string {
  return `no perdure.config.ts in ${cwd}: using the built-in demo`;
}
