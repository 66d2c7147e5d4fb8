/** The types that the specifications name can be imported from the door of the contract, each with its schema. */
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  AgentContentType,
  AgentErrorContent,
  AgentGoalStatus,
  AgentRole,
  AgentTextContent,
  AgentToolResultContent,
  AgentToolUseContent,
  AssistantMessage,
  DocumentPart,
  FinalResponseEvent,
  HiddenUserMessageEvent,
  ImagePart,
  JSONSchema7,
  ReasoningEvent,
  StepCompleteEvent,
  StepStartEvent,
  StepTextPart,
  SystemMessage,
  TaskToolCall,
  TaskToolResult,
  TextEvent,
  TextPart,
  ToolCallEvent,
  ToolCallPart,
  ToolMessage,
  ToolOutputRef,
  ToolResultEvent,
  ToolResultPart,
  UserMessage,
} from '../../contract/index.js';

const text: TextPart = { type: 'text', text: 'hello' };
const image: ImagePart = { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } };
const output: ToolOutputRef = { id: 'art_1', byte_size: 70_000, line_count: 3 };
const called: TaskToolCall = { id: 'call_1_1', tool_name: 'web_search', args: { query: 'x' } };
const given: TaskToolResult = { tool_call_id: 'call_1_1', result: { found: 1 }, is_error: false };

/** One value of each, as its specification writes it. */
interface CoreTypes {
  TextPart: TextPart;
  ImagePart: ImagePart;
  DocumentPart: DocumentPart;
  UserMessage: UserMessage;
  SystemMessage: SystemMessage;
  AssistantMessage: AssistantMessage;
  ToolOutputRef: ToolOutputRef;
  ToolMessage: ToolMessage;
  JSONSchema7: JSONSchema7;
  TextEvent: TextEvent;
  ReasoningEvent: ReasoningEvent;
  StepStartEvent: StepStartEvent;
  ToolCallEvent: ToolCallEvent;
  ToolResultEvent: ToolResultEvent;
  StepCompleteEvent: StepCompleteEvent;
  HiddenUserMessageEvent: HiddenUserMessageEvent;
  FinalResponseEvent: FinalResponseEvent;
}
const coreTypes: CoreTypes = {
  TextPart: text,
  ImagePart: image,
  DocumentPart: { type: 'document', source: { data: 'JVBERi0=', media_type: 'application/pdf' } },
  UserMessage: { role: 'user', content: [text, image], name: 'Ada' },
  SystemMessage: { role: 'system', content: [text], cache: true },
  AssistantMessage: { role: 'assistant', content: null, refusal: null, tool_calls: [] },
  ToolOutputRef: output,
  ToolMessage: { role: 'tool', tool_call_id: 'call_1_1', tool_name: 'a.b.c', content: [text], output_ref: output },
  JSONSchema7: { type: 'object', properties: {} },
  TextEvent: { type: 'text', content: 'hello', timestamp: 1 },
  ReasoningEvent: { type: 'reasoning', content: 'hm', timestamp: 1 },
  StepStartEvent: { type: 'step_start', step_id: 'step_1', title: 'Planning', step_number: 1 },
  ToolCallEvent: { type: 'tool_call', tool: 'c', args: {}, tool_call_id: 'call_1_1', display_name: 'C' },
  ToolResultEvent: { type: 'tool_result', tool: 'c', result: '', tool_call_id: 'call_1_1', screenshot_base64: null },
  StepCompleteEvent: { type: 'step_complete', step_id: 'step_1', status: 'completed', duration_ms: 1 },
  HiddenUserMessageEvent: { type: 'hidden_user_message', content: 'Go on.' },
  FinalResponseEvent: { type: 'final', content: 'Done.' },
};

/** Where a name of the specification is one of core types too, it says here whose it is. */
interface StepTypes {
  StepTextPart: StepTextPart;
  ToolCallPart: ToolCallPart;
  ToolResultPart: ToolResultPart;
  TaskToolCall: TaskToolCall;
  TaskToolResult: TaskToolResult;
}
const stepTypes: StepTypes = {
  StepTextPart: { type: 'text', text: 'hello' },
  ToolCallPart: { type: 'tool_call', tool_call: called },
  ToolResultPart: { type: 'tool_result', tool_result: given },
  TaskToolCall: called,
  TaskToolResult: given,
};

interface ThreadTypes {
  AgentContentType: AgentContentType;
  AgentRole: AgentRole;
  AgentGoalStatus: AgentGoalStatus;
  AgentTextContent: AgentTextContent;
  AgentToolUseContent: AgentToolUseContent;
  AgentToolResultContent: AgentToolResultContent;
  AgentErrorContent: AgentErrorContent;
}
const use = { tool_name: 'web_search', tool_use_id: 'call_1_1' };
const threadTypes: ThreadTypes = {
  AgentContentType: 'tool_use',
  AgentRole: 'roboto',
  AgentGoalStatus: 'achieved',
  AgentTextContent: { content_type: 'text', text: 'hello' },
  AgentToolUseContent: { content_type: 'tool_use', ...use, input: { query: 'x' }, raw_request: null },
  AgentToolResultContent: {
    content_type: 'tool_result',
    ...use,
    runtime_ms: 1,
    status: 'success',
    raw_response: { result: 1 },
  },
  AgentErrorContent: { content_type: 'error', error_message: 'It broke.', error_code: null },
};

type Name = keyof CoreTypes | keyof StepTypes | keyof ThreadTypes;
const schemas: Record<Name, z.ZodType> = {
  AgentErrorContent,
  AgentGoalStatus,
  AgentContentType,
  AgentRole,
  AgentTextContent,
  AgentToolResultContent,
  AgentToolUseContent,
  AssistantMessage,
  DocumentPart,
  FinalResponseEvent,
  HiddenUserMessageEvent,
  ImagePart,
  JSONSchema7,
  ReasoningEvent,
  StepCompleteEvent,
  StepStartEvent,
  StepTextPart,
  SystemMessage,
  TaskToolCall,
  TaskToolResult,
  TextEvent,
  TextPart,
  ToolCallEvent,
  ToolCallPart,
  ToolMessage,
  ToolOutputRef,
  ToolResultEvent,
  ToolResultPart,
  UserMessage,
};
const samples = Object.entries({ ...coreTypes, ...stepTypes, ...threadTypes }) as [Name, unknown][];

describe('the door of the contract', () => {
  it.each(samples)('has %s, and its schema takes what the specification writes', (name, sample) => {
    expect(schemas[name].parse(sample)).toEqual(sample);
  });
});
