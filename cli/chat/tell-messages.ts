/** The messages of a thread as lines: what was said before, for one who comes back. */
import type { AgentContent, AgentMessage } from '../../contract/thread-records.js';
import { duration, line } from '../format.js';
import type { Styles } from '../terminal.js';
import { printable } from '../text-width.js';

/** Results of tools are nobody's words. */
const SPEAKERS = { user: 'user', assistant: 'assistant', roboto: 'tools' } as const satisfies Record<
  AgentMessage['role'],
  string
>;

type ToolResult = Extract<AgentContent, { content_type: 'tool_result' }>;

/** Where they are told. */
export interface Teller {
  readonly styles: Styles;
  /** What the model said, as lines. */
  tell(text: string): string[];
}

export function tellMessages(messages: readonly AgentMessage[], teller: Teller, isNumbered = false): string[] {
  const results = new Map<string, ToolResult>();
  for (const { content } of messages) {
    for (const block of content) if (block.content_type === 'tool_result') results.set(block.tool_use_id, block);
  }
  return messages.flatMap((message, index) => {
    const lines = message.content.flatMap((block) => tellBlock(message, block, results, teller));
    if (lines.length === 0 && !isNumbered) return [];
    return ['', ...(isNumbered ? [teller.styles.dim(`[${index}] ${SPEAKERS[message.role]}`)] : []), ...lines];
  });
}

/** As it stands in front of an answer. */
export function tellQuestion(text: string, styles: Styles): string[] {
  const [first = '', ...rest] = printable(text).trimEnd().split('\n');
  return [`> ${first}`, ...rest.map((each) => `  ${each}`)].map(styles.bold);
}

function tellBlock(
  { role, status }: AgentMessage,
  block: AgentContent,
  results: ReadonlyMap<string, ToolResult>,
  { styles, tell }: Teller,
): string[] {
  switch (block.content_type) {
    case 'text': {
      if (role === 'user') return tellQuestion(block.text, styles);
      const lines = tell(block.text);
      return status === 'cancelled' ? [...lines, styles.yellow('(interrupted)')] : lines;
    }
    case 'tool_use':
      return [tellUse(block, results.get(block.tool_use_id), styles)];
    case 'tool_result':
      return [];
    case 'error':
      return [`${styles.red('✗')} ${styles.yellow(line(printable(block.error_message), 300))}`];
  }
}

function tellUse(
  { tool_name, input }: Extract<AgentContent, { content_type: 'tool_use' }>,
  result: ToolResult | undefined,
  { bold, dim, green, red }: Styles,
): string {
  const icon = result === undefined ? '…' : result.status === 'success' ? green('✓') : red('✗');
  const how = result === undefined || result.status === 'success' ? '' : ` ${result.status}`;
  const time = result === undefined ? '' : `  ${duration(result.runtime_ms)}`;
  return `${icon} ${bold(printable(tool_name))}${dim(` ${line(printable(JSON.stringify(input ?? {})), 60)}${how}${time}`)}`;
}
