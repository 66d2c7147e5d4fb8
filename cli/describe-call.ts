/** One tool call in full: what was asked, what came of it, and for its author what it threw. */
import { contentText } from './call-outputs.js';
import type { CallOutput } from './call-outputs.js';
import { duration } from './format.js';
import type { Styles } from './terminal.js';
import { hang, printable, wrap } from './text-width.js';

/** `whole` is the output where the log has only a part of it. */
export function describeCall(call: CallOutput, whole: string | undefined, width: number, styles: Styles): string {
  const { bold, dim, red } = styles;
  const { result } = call;
  const heading = (text: string) => ['', dim(text)];
  const text = (value: string) => wrap(printable(value), width);
  const lines = [
    `${bold(call.name)}  ${call.tool_call_id}  ${dim(result === undefined ? 'open' : duration(result.duration_ms))}`,
    ...heading('arguments'),
    ...text(prettyJson(call.arguments)),
  ];
  if (result === undefined) return lines.join('\n');
  if (result.status === 'error') {
    const { kind, message, issues } = result.failure;
    lines.push(...heading('failure'), ...hang('', printable(`${kind}: ${message}`), width, red));
    for (const issue of issues) lines.push(...hang('- ', printable(`${issue.path}: ${issue.message}`), width));
    if (result.debug_message !== undefined) lines.push(...heading('thrown'), ...text(result.debug_message));
  }
  const output = whole ?? contentText(result.content);
  return [...lines, ...heading(result.status === 'error' ? 'what the model reads' : 'output'), ...text(output)].join(
    '\n',
  );
}

/** As the model wrote it, where that is no JSON. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
