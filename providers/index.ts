/** The door of this room. */
export { anthropic } from './anthropic/anthropic-provider.js';
export type { AnthropicOptions } from './anthropic/anthropic-provider.js';
export { createAssembler } from './assemble-completion.js';
export type { BlockDelta, CompletionAssembler } from './assemble-completion.js';
export { gemini } from './gemini/gemini-provider.js';
export type { GeminiOptions } from './gemini/gemini-provider.js';
export { openai } from './openai/openai-provider.js';
export type { OpenAIOptions } from './openai/openai-provider.js';
export { Script } from './scripted/script.js';
export type { Turn } from './scripted/script.js';
export { scriptFromInput } from './scripted/script-from-input.js';
export { scripted } from './scripted/scripted-provider.js';
export type { ScriptedProvider } from './scripted/scripted-provider.js';
