/** Results of client tools as they are written on the command line: CALL=JSON-or-text. */
import type { ClientToolResult } from '../contract/awaits.js';
import { CommandError } from './command-error.js';

export interface ResultFlags {
  result: readonly string[];
  error: readonly string[];
  declined: readonly string[];
}

export function parseResults({ result, error, declined }: ResultFlags): ClientToolResult[] {
  const results: ClientToolResult[] = [
    ...result.map((text) => ({ ...split('--result', text, valueOf), status: 'success' as const })),
    ...error.map((text) => ({ ...split('--error', text, String), status: 'error' as const })),
    ...declined.map((tool_call_id) => ({ tool_call_id, status: 'declined' as const })),
  ];
  const ids = results.map(({ tool_call_id }) => tool_call_id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new CommandError(`There are two results for ${twice}. Give one for each call.`);
  return results;
}

/** What is JSON is taken as JSON, anything else as it stands. */
export function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function split(flag: string, text: string, parse: (value: string) => unknown) {
  const [, tool_call_id, value] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (tool_call_id === undefined || value === undefined) {
    throw new CommandError(`${flag} takes CALL=VALUE, like ${flag} call_1_1=done, and got "${text}".`);
  }
  return { tool_call_id, output: parse(value) };
}
