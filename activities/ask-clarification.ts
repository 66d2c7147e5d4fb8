/** `runtime.user.ask_clarification`: how an agent asks its user. It pauses the run; nothing runs on a worker. */
import { z } from 'zod';
import { ASK_CLARIFICATION_TOOL } from '../contract/names.js';
import type { ToolSpec } from '../contract/tools.js';

export const askClarificationSpec: ToolSpec = {
  tool_id: ASK_CLARIFICATION_TOOL,
  description: 'Asks the user one question and waits for the answer. Use it when you cannot go on without knowing.',
  parameters: z.toJSONSchema(
    z.object({ question: z.string(), choices: z.array(z.string()).optional().describe('answers to choose from') }),
    { target: 'draft-7' },
  ) as ToolSpec['parameters'],
  strict: true,
  timeout_ms: 60_000,
  idempotent: true,
  max_attempts: 1,
  kind: 'clarification',
};
