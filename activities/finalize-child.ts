/** The result of an agent that was used as a tool: what its finalizer makes of the run, or its answer, trimmed if large. */
import type { FinalizeInput, FinalizeResult } from '../contract/activities.js';
import { scopeOf } from '../contract/artefacts.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import { callerOf } from '../contract/principal.js';
import { failureText } from '../contract/tool-failure.js';
import type { Registry } from '../kit/registry.js';
import { parseArguments } from './parse-arguments.js';
import { failedCall, isUnexpected } from './thrown.js';
import type { ReportThrown } from './thrown.js';
import { toToolOutput } from './tool-output.js';

interface FinalizeDependencies {
  registry: Registry;
  artefacts: ArtefactStore;
  threw: ReportThrown;
}

export async function finalizeChild(
  { registry, artefacts: store, threw }: FinalizeDependencies,
  input: FinalizeInput,
): Promise<FinalizeResult> {
  const { output, run } = input;
  const artefacts = store.of(scopeOf(run.root_run_id));
  if (output.status !== 'success')
    throw new Error(`run ${output.run.run_id} did not succeed: there is nothing to finalize`);
  const known = registry.tools.get(input.tool_id);
  const finalizer = known?.tool.child?.finalizer;
  if (known === undefined || finalizer === undefined) return toToolOutput(output.answer, artefacts);
  try {
    const value = await finalizer({
      input: await parseArguments(known, input.arguments),
      parent: run,
      ...(input.caller ?? callerOf({})),
      child: output,
      artefacts,
    });
    return await toToolOutput(value, artefacts);
  } catch (error) {
    const { tool_id, tool_call_id } = input;
    if (isUnexpected(error)) threw({ what: `finalizer of tool ${tool_id}`, error, run_id: run.run_id, tool_call_id });
    const failed = failedCall(`The finalizer of ${tool_id}`, error);
    return { content: failureText(failed.failure), ...failed };
  }
}
