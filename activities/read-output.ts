/** `runtime.outputs.read_output`: how a model reads on in an output that was trimmed. */
import { z } from 'zod';
import { READ_OUTPUT_TOOL } from '../contract/names.js';
import { defineTool } from '../kit/define-tool.js';
import { toolSpec } from '../kit/tool-spec.js';
import { ToolError } from '../kit/tool-error.js';

const MAX_BYTES = 32 * 1024;

export const readOutputTool = defineTool({
  tool_id: READ_OUTPUT_TOOL,
  description: 'Reads a part of a tool output that was trimmed. Give the output_id and the byte offset to begin at.',
  input: z.object({
    output_id: z.string(),
    offset: z.number().int().nonnegative().describe('byte to begin at'),
    length: z.number().int().positive().max(MAX_BYTES).optional().describe(`bytes to read, at most ${MAX_BYTES}`),
  }),
  idempotent: true,
  async run({ output_id, offset, length = MAX_BYTES }, { artefacts }) {
    const info = await artefacts.info(output_id);
    if (info === undefined) throw new ToolError('invalid_call', `There is no output "${output_id}".`);
    const bytes = await artefacts.read(output_id, offset, offset + length);
    const cut = wholeCharacters(bytes);
    const end = offset + cut.byteLength;
    const rest = end < info.byte_size ? `\n\n[${info.byte_size - end} bytes follow; read on at offset ${end}]` : '';
    return new TextDecoder().decode(cut) + rest;
  },
});

export const readOutputSpec = toolSpec(readOutputTool, READ_OUTPUT_TOOL, (field, problem) => {
  throw new Error(`${field} ${problem}`);
});

/** Leaves out the last character where the range ends inside it. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes;
    if (byte >= 0xc0) {
      const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return size <= back ? bytes : bytes.subarray(0, bytes.length - back);
    }
  }
  return bytes;
}
