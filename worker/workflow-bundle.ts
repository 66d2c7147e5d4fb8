/** The workflows, by path only: bundled when the product is built, shipped beside the compiled rooms. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Beside `dist/worker/` when compiled; under `dist/` when the sources are run as they are. */
export function workflowBundlePath(): string {
  const candidates = ['../workflow-bundle.js', '../dist/workflow-bundle.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const found = candidates.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(`The workflow bundle is missing (looked for ${candidates.join(' and ')}). Run "npm run build".`);
}
