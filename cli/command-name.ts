/** How this command was called, for hints that can be copied. */
import { basename, dirname, relative } from 'node:path';

export function commandName(): string {
  const script = process.argv[1] ?? 'perdure';
  if (basename(script) === 'perdure') return basename(dirname(script)) === '.bin' ? 'npx perdure' : 'perdure';
  const fromHere = relative(process.cwd(), script);
  return `node ${fromHere.startsWith('..') ? script : fromHere}`;
}
