/** Part of `npm run build`: bundles the compiled workflows. */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)),
  logger: new DefaultLogger('WARN'),
});
await writeFile(new URL('../workflow-bundle.js', import.meta.url), code);
