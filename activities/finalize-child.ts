/** The result of an agent that was used as a tool: what its finalizer makes of the run, or its answer, trimmed if large. */
import type { FinalizeInput, FinalizeResult } from '../contract/activities.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import { failureText, toolFailure } from '../contract/tool-failure.js';
import type { Registry } from '../kit/registry.js';
import { isToolError } from '../kit/tool-error.js';
import { parseArguments } from './parse-arguments.js';
import { toToolOutput } from './tool-output.js';

interface FinalizeDependencies {
  registry: Registry;
  artefacts: ArtefactStore;
}

export async function finalizeChild(
  { registry, artefacts }: FinalizeDependencies,
  input: FinalizeInput,
): Promise<FinalizeResult> {
  const { output, run } = input;
  if (output.status !== 'success')
    throw new Error(`run ${output.run.run_id} did not succeed: there is nothing to finalize`);
  const known = registry.tools.get(input.tool_id);
  const finalizer = known?.tool.child?.finalizer;
  if (known === undefined || finalizer === undefined) return toToolOutput(output.answer, artefacts);
  try {
    const value = await finalizer({
      input: await parseArguments(known, input.arguments),
      parent: run,
      child: output,
      artefacts,
    });
    return await toToolOutput(value, artefacts);
  } catch (error) {
    const failure = isToolError(error)
      ? toolFailure(error.kind, error.message)
      : toolFailure(
          'internal',
          `The finalizer of ${input.tool_id} failed: ${error instanceof Error ? error.message : String(error)}`,
        );
    return { content: failureText(failure), failure };
  }
}
