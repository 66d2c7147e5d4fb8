/** The calls of a run with what came of them, as its log has them. */
import type { EventOf } from '../contract/events.js';
import type { ToolContent } from '../contract/messages.js';
import type { RunCommands } from './run-commands.js';

export interface CallOutput {
  tool_call_id: string;
  name: string;
  arguments: string;
  /** Absent while it runs. */
  result?: EventOf<'tool_result'>;
}

/** By the id of the call, in the order in which they were asked for. */
export async function readCalls(runs: Pick<RunCommands, 'stream'>, runId: string): Promise<Map<string, CallOutput>> {
  const calls = new Map<string, CallOutput>();
  for await (const event of runs.stream(runId, { follow: false })) {
    if (!('seq' in event) || event.run_id !== runId || event.tool_call_id === undefined) continue;
    const { tool_call_id } = event;
    if (event.type === 'tool_requested')
      calls.set(tool_call_id, { tool_call_id, name: event.name, arguments: event.arguments });
    const call = calls.get(tool_call_id);
    if (event.type === 'tool_result' && call !== undefined) call.result = event;
  }
  return calls;
}

/** Of what is no text, its kind and type. */
export function contentText(content: ToolContent): string {
  if (typeof content === 'string') return content;
  const shown = content.map((part) =>
    part.type === 'text' ? part.text : `[image ${part.image_url.media_type ?? ''}]`,
  );
  return shown.join('\n');
}
