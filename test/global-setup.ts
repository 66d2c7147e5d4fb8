/** One real Temporal dev server for all tests (or the one at TEMPORAL_ADDRESS), and the check that the build is there. */
import type { TestProject } from 'vitest/node';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import { startEmbeddedServer } from '../worker/embedded-server.js';
import { workflowBundlePath } from '../worker/workflow-bundle.js';

declare module 'vitest' {
  interface ProvidedContext {
    temporalAddress: string;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  workflowBundlePath();
  const given = process.env['TEMPORAL_ADDRESS'];
  if (given !== undefined) {
    project.provide('temporalAddress', given);
    return undefined;
  }
  const server = await startEmbeddedServer({
    port: 0,
    uiPort: false,
    namespace: 'default',
    searchAttributes: Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, 'Keyword' as const])),
    report: (line) => process.stderr.write(`${line}\n`),
  });
  project.provide('temporalAddress', server.address);
  return () => server.stop();
}
