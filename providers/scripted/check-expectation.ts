import type { BaseMessage, ContentPart } from '../../contract/messages.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import type { Expectation } from './script.js';

/** What was expected and did not come, or undefined. */
export function checkExpectation(expected: Expectation, request: ModelRequest): string | undefined {
  const { last_user: lastUser, tool_results: results, tools = [] } = expected;
  if (lastUser !== undefined && !says(lastUserText(request.messages), lastUser))
    return `a last user message with ${lastUser.startsWith('/') ? lastUser : JSON.stringify(lastUser)}`;
  if (results !== undefined && results !== newToolResults(request.messages)) return `${results} tool results`;
  const missing = tools.filter((id) => !request.tools.some((tool) => tool.name === id));
  return missing.length === 0 ? undefined : `the tools ${missing.join(', ')}`;
}

/** A request in one line, for the message of a mismatch. */
export function describeRequest(request: ModelRequest): string {
  const text = lastUserText(request.messages);
  const user = JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
  const tools = request.tools.map((tool) => tool.name).join(', ') || 'none';
  return (
    `${request.messages.length} messages, the last user message ${user}, ` +
    `${newToolResults(request.messages)} new tool results, tools ${tools}, tool_choice ${request.tool_choice}, ` +
    `attempt ${request.attempt}`
  );
}

export function textOf(content: string | readonly ContentPart[] | null): string {
  if (content === null || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function says(text: string, wanted: string): boolean {
  const expression = /^\/(.+)\/([a-z]*)$/s.exec(wanted);
  if (expression === null) return text.includes(wanted);
  return new RegExp(expression[1] ?? '', expression[2]).test(text);
}

function lastUserText(messages: readonly BaseMessage[]): string {
  return textOf(messages.findLast((message) => message.role === 'user')?.content ?? null);
}

function newToolResults(messages: readonly BaseMessage[]): number {
  const spoke = messages.findLastIndex((message) => message.role === 'assistant');
  return messages.slice(spoke + 1).filter((message) => message.role === 'tool').length;
}
