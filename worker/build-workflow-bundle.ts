/** Part of `npm run build`: bundles the compiled workflows. */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const compiled = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const bundles = [
  { name: 'workflow-bundle.js' },
  { name: 'workflow-bundle-encrypted.js', failureConverterPath: compiled('encoded-failures.js') },
];
for (const { name, ...options } of bundles) {
  const { code } = await bundleWorkflowCode({
    workflowsPath: compiled('../workflows/index.js'),
    workflowInterceptorModules: [compiled('../workflows/refuse-early-events.js')],
    logger: new DefaultLogger('WARN'),
    ...options,
  });
  await writeFile(new URL(`../${name}`, import.meta.url), code);
}
