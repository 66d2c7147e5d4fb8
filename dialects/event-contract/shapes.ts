/**
 * The lines of the event contract, and the only functions that make them. A shape has its own fields and none of the
 * others': every field of another type is `never`, so a line that breaks field ownership does not compile.
 */
interface Fields {
  content: string;
  status: string;
  message: string;
  tool: string | null;
  state: StatusWord;
  activity: string | null;
  operation: ScratchpadOperation;
  entry: string | null;
  args: Readonly<Record<string, unknown>>;
  error: string;
  filename: string;
  mime_type: string;
  file_id: string;
  url: string;
  base64: string;
}

export type StatusWord = 'started' | 'running' | 'in_progress' | 'completed' | 'success' | 'failed' | 'warning';
export type ScratchpadOperation = 'read' | 'append' | 'update';

type Shape<Type extends string, Own extends Partial<Fields>> = Readonly<{ type: Type; run_id: string } & Own> & {
  readonly [Field in Exclude<keyof Fields, keyof Own>]?: never;
};

type Activity = { tool: string; state: StatusWord; activity: string };

export type Content = Shape<'content', { content: string }>;
export type Reasoning = Shape<'reasoning', { content: string }>;
export type WebStatus = Shape<'web_status', { status: StatusWord; tool: string; message: string }>;
export type ResearchStatus = Shape<'research_status', Activity>;
export type CodeStatus = Shape<'code_status', Activity>;
export type ScratchpadStatus = Shape<
  'scratchpad_status',
  {
    operation: ScratchpadOperation;
    state: StatusWord;
    tool: string | null;
    activity: string | null;
    entry: string | null;
  }
>;
export type ToolCallStart = Shape<'tool_call_start', { tool: string; args: Readonly<Record<string, unknown>> }>;
export type RunStatus = Shape<'status', { status: 'complete' }>;
export type RunError = Shape<'error', { error: string }>;
export type GeneratedFile = Shape<
  'generated_file',
  { filename: string; mime_type: string; file_id: string; url?: string; base64?: string }
>;
export type HotCode = Shape<'hot_code', { content: string }>;
export type HotCodeOutput = Shape<'hot_code_output', { content: string }>;

export type ContractLine =
  | Content
  | Reasoning
  | WebStatus
  | ResearchStatus
  | CodeStatus
  | ScratchpadStatus
  | ToolCallStart
  | RunStatus
  | RunError
  | GeneratedFile
  | HotCode
  | HotCodeOutput;

export function content(run_id: string, text: string): Content {
  return { type: 'content', run_id, content: text };
}

export function reasoning(run_id: string, text: string): Reasoning {
  return { type: 'reasoning', run_id, content: text };
}

export function webStatus(run_id: string, tool: string, status: StatusWord, message: string): WebStatus {
  return { type: 'web_status', run_id, status, tool, message };
}

export function researchStatus(run_id: string, tool: string, state: StatusWord, activity: string): ResearchStatus {
  return { type: 'research_status', run_id, tool, state, activity };
}

export function codeStatus(run_id: string, tool: string, state: StatusWord, activity: string): CodeStatus {
  return { type: 'code_status', run_id, tool, state, activity };
}

/** An entry comes alone; everything else a scratchpad says has a tool and an activity, and no entry. */
export function scratchpadEntry(run_id: string, operation: ScratchpadOperation, entry: string): ScratchpadStatus {
  return { type: 'scratchpad_status', run_id, operation, state: 'success', tool: null, activity: null, entry };
}

export function scratchpadStatus(
  run_id: string,
  operation: ScratchpadOperation,
  state: Exclude<StatusWord, 'success'>,
  tool: string,
  activity: string,
): ScratchpadStatus {
  return { type: 'scratchpad_status', run_id, operation, state, tool, activity, entry: null };
}

export function toolCallStart(run_id: string, tool: string, args: Readonly<Record<string, unknown>>): ToolCallStart {
  return { type: 'tool_call_start', run_id, tool, args };
}

export function runComplete(run_id: string): RunStatus {
  return { type: 'status', run_id, status: 'complete' };
}

export function runError(run_id: string, error: string): RunError {
  return { type: 'error', run_id, error };
}

export function generatedFile(
  run_id: string,
  file: {
    filename: string;
    mime_type: string;
    file_id: string;
    url?: string | undefined;
    base64?: string | undefined;
  },
): GeneratedFile {
  const { filename, mime_type, file_id, url, base64 } = file;
  return {
    type: 'generated_file',
    run_id,
    filename,
    mime_type,
    file_id,
    ...(url === undefined ? {} : { url }),
    // Where there is an address, the contract has no use for the content.
    ...(url !== undefined || base64 === undefined ? {} : { base64 }),
  };
}

export function hotCode(run_id: string, text: string): HotCode {
  return { type: 'hot_code', run_id, content: text };
}

export function hotCodeOutput(run_id: string, text: string): HotCodeOutput {
  return { type: 'hot_code_output', run_id, content: text };
}
