/** The door of this room: toolsets that ship. */
export { codeInterpreter } from './code/code-interpreter.js';
export type { CodeInterpreterOptions } from './code/code-interpreter.js';
