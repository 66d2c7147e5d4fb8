/** The door of this room. */
export { createAssembler } from './assemble-completion.js';
export type { BlockDelta, CompletionAssembler } from './assemble-completion.js';
export { openai } from './openai/openai-provider.js';
export type { OpenAIOptions } from './openai/openai-provider.js';
export { Script } from './scripted/script.js';
export type { Turn } from './scripted/script.js';
export { scriptFromInput } from './scripted/script-from-input.js';
export { scripted } from './scripted/scripted-provider.js';
export type { ScriptedProvider } from './scripted/scripted-provider.js';
