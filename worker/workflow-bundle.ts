/** The workflows, by path only: bundled when the product is built, shipped beside the compiled rooms. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The same workflows twice: with encryption, the texts of their failures are in payloads. */
export function workflowBundlePath({ encrypts = false } = {}): string {
  const file = encrypts ? 'workflow-bundle-encrypted.js' : 'workflow-bundle.js';
  return built('The workflow bundle', [`../${file}`, `../dist/${file}`]);
}

export function encodedFailuresPath(): string {
  return built('The converter of failures', ['./encoded-failures.js', '../dist/worker/encoded-failures.js']);
}

/** Beside `dist/worker/` when compiled; under `dist/` when the sources are run as they are. */
function built(what: string, paths: readonly string[]): string {
  const candidates = paths.map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const found = candidates.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(`${what} is missing (looked for ${candidates.join(' and ')}). Run "npm run build".`);
}
