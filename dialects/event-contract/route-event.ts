/** All events but those that end a run or may be part of an entry: where one goes is a matter of its type and tool. */
import { textField } from './routed.js';
import type { Routed, WireEvent } from './routed.js';
import { normalizeStatus, SCRATCHPAD_TOOLS, WEB_TOOLS } from './vocabulary.js';

type Route = (event: WireEvent, run_id: string) => Routed[];

const ROUTES: Readonly<Record<string, Route>> = {
  reasoning: (event, run_id) => [{ to: 'reasoning', run_id, text: textField(event, 'content') }],
  web_status: routeWebStatus,
  research_status: routeResearchStatus,
  scratchpad_status: routeScratchpadStatus,
  tool_call_start: routeToolCall,
  tool_call_manifest: routeToolCall,
  code_status: (event, run_id) => [research(run_id, event, event['state'], textField(event, 'activity'))],
  generated_file: routeFile,
  code_interpreter_file: routeFile,
  hot_code: (event, run_id) => [{ to: 'code', run_id, text: textField(event, 'content') }],
  hot_code_output: (event, run_id) => [{ to: 'code_output', run_id, text: textField(event, 'content') }],
  computer_output: (event, run_id) => [{ to: 'code_output', run_id, text: textField(event, 'content') }],
};

const WITH_STATE: ReadonlySet<string> = new Set(['content', 'status', 'error']);

/** The type is one of the contract's, and not retired. */
export function isRouted(type: string): boolean {
  return WITH_STATE.has(type) || Object.hasOwn(ROUTES, type);
}

export function routeEvent(event: WireEvent, type: string, run_id: string): Routed[] {
  return Object.hasOwn(ROUTES, type) ? (ROUTES[type]?.(event, run_id) ?? []) : [];
}

function routeToolCall(event: WireEvent, run_id: string): Routed[] {
  const tool = textField(event, 'tool');
  if (WEB_TOOLS.has(tool)) return [web(run_id, event, 'in_progress', '')];
  return SCRATCHPAD_TOOLS.has(tool) ? [] : [research(run_id, event, 'in_progress', '')];
}

function routeWebStatus(event: WireEvent, run_id: string): Routed[] {
  const tool = textField(event, 'tool');
  const message = textField(event, 'message');
  if (WEB_TOOLS.has(tool)) return [web(run_id, event, event['status'], message)];
  return SCRATCHPAD_TOOLS.has(tool) ? [] : [research(run_id, event, event['status'], message)];
}

function routeResearchStatus(event: WireEvent, run_id: string): Routed[] {
  const tool = textField(event, 'tool');
  const activity = textField(event, 'activity');
  if (SCRATCHPAD_TOOLS.has(tool)) return entryOfResearch(event, run_id, tool);
  return [(WEB_TOOLS.has(tool) ? web : research)(run_id, event, event['state'], activity)];
}

/** Only a terminal state that brings data. */
function entryOfResearch(event: WireEvent, run_id: string, tool: string): Routed[] {
  const status = normalizeStatus(event['state']);
  const { data } = event;
  if (data === undefined || data === null || (status !== 'success' && status !== 'error')) return [];
  const entry = typeof data === 'string' ? data : JSON.stringify(data);
  const operation = tool === 'append_scratchpad' ? 'append' : tool === 'read_scratchpad' ? 'read' : 'update';
  return [{ to: 'scratchpad', run_id, operation, status, tool, activity: textOrNull(event, 'activity'), entry }];
}

function routeScratchpadStatus(event: WireEvent, run_id: string): Routed[] {
  const given = event['operation'];
  const operation = given === 'append' || given === 'update' ? given : 'read';
  const [tool, activity, entry] = ['tool', 'activity', 'entry'].map((field) => textOrNull(event, field));
  return [
    {
      to: 'scratchpad',
      run_id,
      operation,
      status: normalizeStatus(event['state']),
      tool: tool ?? null,
      activity: activity ?? null,
      entry: entry ?? null,
    },
  ];
}

function routeFile(event: WireEvent, run_id: string): Routed[] {
  const [url, base64] = [textField(event, 'url'), textField(event, 'base64')];
  return [
    {
      to: 'file',
      run_id,
      file_id: textField(event, 'file_id'),
      filename: textField(event, 'filename'),
      mime_type: textField(event, 'mime_type'),
      ...(url === '' ? {} : { url }),
      ...(base64 === '' ? {} : { base64 }),
    },
  ];
}

function web(run_id: string, event: WireEvent, word: unknown, message: string): Routed {
  return { to: 'web_status', run_id, tool: textField(event, 'tool'), status: normalizeStatus(word), message };
}

function research(run_id: string, event: WireEvent, word: unknown, activity: string): Routed {
  return { to: 'research_status', run_id, tool: textField(event, 'tool'), status: normalizeStatus(word), activity };
}

function textOrNull(event: WireEvent, field: string): string | null {
  const value = event[field];
  return typeof value === 'string' ? value : null;
}
