/** What a tool's call, its progress and its end become: which type of line is a matter of the tool's family. */
import type { EventOf } from '../../contract/events.js';
import { asEntry } from '../../contract/scratchpad-entries.js';
import { parsedArguments, resultText } from '../tool-words.js';
import { codeStatus, researchStatus, scratchpadEntry, scratchpadStatus, toolCallStart, webStatus } from './shapes.js';
import type { ContractLine, ScratchpadOperation, StatusWord } from './shapes.js';
import { CODE_TOOLS, DELEGATION_TOOLS, SCRATCHPAD_LABELS, SCRATCHPAD_TOOLS, WEB_TOOLS } from './vocabulary.js';

/** The component that speaks where no tool does. */
export const RUNTIME = 'runtime';

/** What has to be known of an open call when its result comes. */
export interface OpenCall {
  readonly tool: string;
  readonly operation: ScratchpadOperation;
  /** What a scratchpad was asked to write. */
  readonly entry?: string;
}

type Family = 'web' | 'code' | 'scratchpad' | 'delegation' | 'other';

export function familyOf(tool: string): Family {
  if (WEB_TOOLS.has(tool)) return 'web';
  if (CODE_TOOLS.has(tool)) return 'code';
  if (SCRATCHPAD_TOOLS.has(tool)) return 'scratchpad';
  return DELEGATION_TOOLS.has(tool) ? 'delegation' : 'other';
}

export function openCall(tool: string, written: string): OpenCall {
  const args = parsedArguments(written);
  const operation = operationOf(tool, args['operation']);
  const entry = [args['entry'], args['content'], args['text']].find((value) => typeof value === 'string');
  const writes = familyOf(tool) === 'scratchpad' && operation !== 'read';
  return { tool, operation, ...(writes && typeof entry === 'string' ? { entry: inContractForm(entry) } : {}) };
}

/** As the scratchpad's tools write it: a model may leave out the variation selector of a prefix, or begin with a blank. */
function inContractForm(entry: string): string {
  return entry
    .trim()
    .split('\n')
    .map((line) => asEntry(line) ?? line)
    .join('\n');
}

/** A status in the words of the tool's family; success of a scratchpad is its entry, and not made here. */
export function toolStatus(
  run_id: string,
  { tool, operation }: OpenCall,
  word: Exclude<StatusWord, 'success'>,
  text: string,
): ContractLine {
  switch (familyOf(tool)) {
    case 'web':
      return webStatus(run_id, tool, word, text);
    case 'code':
      return codeStatus(run_id, tool, word, text);
    case 'scratchpad':
      return scratchpadStatus(run_id, operation, word, tool, text);
    case 'delegation':
    case 'other':
      return researchStatus(run_id, tool, word, text);
  }
}

/** The beginning of a call, without the code of a code tool. */
export function startLines(run_id: string, call: OpenCall, written: string): [ContractLine, ContractLine] {
  const { tool, operation } = call;
  const scratchpad = familyOf(tool) === 'scratchpad';
  const text = scratchpad ? SCRATCHPAD_LABELS[operation].doing : `Calling ${tool}...`;
  const status = toolStatus(run_id, call, scratchpad ? 'in_progress' : 'started', text);
  return [toolCallStart(run_id, tool, parsedArguments(written)), status];
}

/**
 * The end of a call, without the output of a code tool. For a delegation this is the terminal event that it manages
 * itself: progress has no terminal words, so the one of its result is the only one there is. An entry whose words are
 * hidden is none, and leaves its place empty: a page would show it.
 */
export function endLines(run_id: string, call: OpenCall, result: EventOf<'tool_result'>): (ContractLine | undefined)[] {
  const { tool, operation } = call;
  if (result.status === 'error') {
    const canceled = result.failure.kind === 'canceled';
    const text = result.failure.message || (canceled ? `${tool} was canceled.` : `${tool} failed.`);
    return [toolStatus(run_id, call, 'failed', text)];
  }
  switch (familyOf(tool)) {
    case 'web':
      return [webStatus(run_id, tool, 'success', `${tool} has finished.`)];
    case 'code':
      return [codeStatus(run_id, tool, 'success', `${tool} has finished.`)];
    case 'scratchpad': {
      const entry = call.entry ?? resultText(result);
      return [
        entry === '' ? undefined : scratchpadEntry(run_id, operation, entry),
        scratchpadStatus(run_id, operation, 'completed', tool, SCRATCHPAD_LABELS[operation].done),
      ];
    }
    case 'delegation':
      return [researchStatus(run_id, tool, 'completed', `${tool} has finished.`)];
    case 'other':
      return [researchStatus(run_id, tool, 'success', `${tool} has finished.`)];
  }
}

function operationOf(tool: string, asked: unknown): ScratchpadOperation {
  if (tool === 'append_scratchpad') return 'append';
  if (tool === 'read_scratchpad') return 'read';
  if (tool !== 'scratchpad') return 'update';
  return asked === 'append' || asked === 'update' ? asked : asked === 'write' ? 'update' : 'read';
}
