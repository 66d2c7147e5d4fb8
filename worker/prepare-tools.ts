/** Tools that need something of the machine look for it before the worker takes runs; all that is missing is told. */
import { PerdureError } from '../contract/errors.js';
import type { Registry } from '../kit/registry.js';

export async function prepareTools({ tools }: Registry): Promise<void> {
  const problems = await Promise.all(
    [...tools].map(async ([toolId, { tool }]) => {
      try {
        await tool.options.prepare?.();
        return [];
      } catch (error) {
        return [{ toolId, error }];
      }
    }),
  );
  const [first, ...others] = problems.flat();
  if (first === undefined) return;
  const told = [first, ...others].map(
    ({ toolId, error }) => `${toolId}: ${error instanceof Error ? error.message : String(error)}`,
  );
  throw new PerdureError('invalid_config', `this worker cannot run all of its tools:\n  ${told.join('\n  ')}\n`, {
    cause: first.error,
  });
}
