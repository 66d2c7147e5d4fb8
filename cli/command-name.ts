/** How this command is called again, for hints that can be copied. */
import { basename, dirname, relative, resolve } from 'node:path';

/** npx finds the command from a project that has installed it, and from every folder of a clone. */
export function commandName(script = process.argv[1] ?? 'perdure', cwd = process.cwd()): string {
  if (basename(script) === 'perdure') return basename(dirname(script)) === '.bin' ? 'npx perdure' : 'perdure';
  // Of `<clone>/dist/cli/perdure.js`.
  const clone = dirname(dirname(dirname(resolve(cwd, script))));
  const isWithin = !relative(clone, cwd).startsWith('..');
  return isWithin ? 'npx perdure' : `node ${resolve(cwd, script)}`;
}
