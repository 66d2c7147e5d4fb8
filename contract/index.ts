/** The words that all sides say: for consumers of events and for applications. */
export {
  AgentEvent,
  FinalResponseEvent,
  HiddenUserMessageEvent,
  ReasoningEvent,
  StepCompleteEvent,
  StepStartEvent,
  TextEvent,
  ToolCallEvent,
  ToolResultEvent,
} from './agent-events.js';
export { AgentSpec } from './agent-spec.js';
export { ChatInvokeCompletion, ChatInvokeUsage, JSONSchema7, ToolChoice, ToolDefinition } from './completion.js';
export { ERRORS, PerdureError, isPerdureError } from './errors.js';
export type { ErrorCode } from './errors.js';
export { DurableEvent } from './events.js';
export type { DurableEventType, EventOf } from './events.js';
export { CLIENT_TOOL_NAME_PREFIX } from './ids.js';
export { Limits, RunLimits } from './limits.js';
export { LiveEvent, StreamMarker } from './live-events.js';
export type { StreamEvent } from './live-events.js';
export {
  AssistantMessage,
  BaseMessage,
  ContentPart,
  DocumentPart,
  ImagePart,
  Role,
  SystemMessage,
  TextPart,
  ToolCall,
  ToolMessage,
  ToolOutputRef,
  UserMessage,
} from './messages.js';
export type { ModelProvider, ModelRequest, ModelStreamPart } from './model-provider.js';
export { applyProfile, PROFILES, resolveProfile, StreamProfile } from './profiles.js';
export type { StreamProfileInput } from './profiles.js';
export type {
  ApprovalAnswer,
  AwaitKind,
  ClarificationAnswer,
  ClientToolResult,
  OpenAwait,
  ToolResultsAnswer,
} from './awaits.js';
export { Cancellation, Failure, RunHandle, RunLink, RunOutput, RunPhase, RunRequest, RunUsage } from './run.js';
export {
  StepPart,
  StepTextPart,
  TaskStep,
  TaskStepChunk,
  TaskToolCall,
  TaskToolResult,
  ToolCallPart,
  ToolResultPart,
} from './task-steps.js';
export { projectSnapshot } from './snapshot.js';
export type { RunSnapshot } from './snapshot.js';
export { applyDelta } from './thread-delta.js';
export {
  AgentContent,
  AgentContentType,
  AgentErrorContent,
  AgentGoalStatus,
  AgentMessage,
  AgentMessageStatus,
  AgentRole,
  AgentTextContent,
  AgentThreadDelta,
  AgentThreadGoalRecord,
  AgentThreadRecord,
  AgentThreadStatus,
  AgentToolResultContent,
  AgentToolUseContent,
  AskedPause,
  ModelProfileResponse,
  readThreadRecord,
  ThreadVisibility,
} from './thread-records.js';
export { asksOf, isComplete, isTerminal, isUnsuccessful, toAgentGoal } from './thread-questions.js';
export { threadStatus } from './thread-status.js';
export { ThreadState, ThreadStatus, ThreadSummary } from './thread-summary.js';
export type { ThreadSummaryPage } from './thread-summary.js';
export { SendMessage, ThreadRequest } from './thread-request.js';
export { ClientToolSpec, ToolFailure, ToolSpec } from './tools.js';
export { projectTranscript } from './transcript.js';
