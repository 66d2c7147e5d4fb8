/** From a configuration file to the sealed registry. All mistakes are reported at once, with file and field. */
import { extname, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PerdureError } from '../contract/errors.js';
import type { Config } from '../kit/define-config.js';
import { createRegistry } from '../kit/registry.js';
import type { Registry } from '../kit/registry.js';
import { CommandError, messageOf } from './command-error.js';
import type { ConfigFile } from './config-file.js';
import { EXIT } from './exit-codes.js';
import { framesOf } from './stack-frames.js';

export async function loadRegistry(file: ConfigFile): Promise<Registry> {
  return createRegistry(await loadConfig(file.path), shown(file.path));
}

async function loadConfig(path: string): Promise<Config> {
  const exported = defaultExport(await importFile(path));
  if (isConfig(exported)) return exported;
  const what = exported === undefined ? 'is missing' : `is ${describe(exported)} and not what defineConfig() returns`;
  throw new PerdureError(
    'invalid_config',
    `${shown(path)}: the default export ${what}: write \`export default defineConfig({ agents: […], models: {…} })\``,
  );
}

async function importFile(path: string): Promise<Record<string, unknown>> {
  const url = pathToFileURL(path).href;
  try {
    if (extname(path) !== '.ts') return (await import(url)) as Record<string, unknown>;
    // So that errors of the application, now and in its tools, name lines of its TypeScript.
    process.setSourceMapsEnabled(true);
    const { tsImport } = await import('tsx/esm/api');
    return (await tsImport(url, import.meta.url)) as Record<string, unknown>;
  } catch (error) {
    throw new CommandError(`${shown(path)} cannot be loaded: ${withPlace(error)}`, EXIT.usage, error);
  }
}

/** In a package that is not `"type": "module"`, TypeScript becomes CommonJS, and its exports one level deeper. */
function defaultExport(module: Record<string, unknown>): unknown {
  const exported = module['default'];
  return isConfig(exported) ? exported : ((exported as { default?: unknown } | undefined)?.default ?? exported);
}

/** By its shape: it may come from another copy of the module. */
function isConfig(value: unknown): value is Config {
  const { kind, options } = (value ?? {}) as { kind?: unknown; options?: unknown };
  return kind === 'config' && typeof options === 'object' && options !== null;
}

function describe(value: unknown): string {
  const kind = (value as { kind?: unknown } | null)?.kind;
  if (kind === 'agent' || kind === 'tool') return `what define${kind === 'agent' ? 'Agent' : 'Tool'}() returns`;
  return value === null ? 'null' : `of type ${typeof value}`;
}

/** The first line of the stack that is the application's own, since the message alone seldom says where. */
function withPlace(error: unknown): string {
  const message = messageOf(error)
    .replace(/\nRequire stack:[^]*$/, '')
    .trim();
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const own = framesOf(stack).find((frame) => frame.isOwn);
  return own === undefined ? message : `${message} (at ${own.place})`;
}

function shown(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}
