/**
 * Canonical tool ids in the alphabet that the vendors share, and back. One table per request.
 *
 * 1. Distinct ids of a request have distinct vendor names, and each comes back as the id it was.
 * 2. Every name that goes out matches VENDOR_NAME_PATTERN, whatever a model has invented before.
 * 3. A name that comes in and is in no table is handed on: as the id that it is the vendor name of, since a policy may
 *    deny a tool that it does not show, or else as it is. The runtime answers it as `denied` or `unavailable`.
 *
 * `.` becomes `-`, which no canonical id holds, so nothing needs escaping. What does not fit is cut and gets `--`
 * and a digest; a canonical id never has an empty segment, so `--` cannot come from one.
 */
import { createHash } from 'node:crypto';
import { PerdureError } from '../contract/errors.js';
import { TOOL_ID_PATTERN } from '../contract/ids.js';

const MAX_LENGTH = 64;
const DIGEST_LENGTH = 16;
export const VENDOR_NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;

export interface ToolNames {
  /** Also for names of past calls: tools that are no longer offered, and names that a model invented. */
  toVendor(name: string): string;
  fromVendor(name: string): string;
}

export function createToolNames(toolIds: readonly string[]): ToolNames {
  const vendorNames = new Map<string, string>();
  const ids = new Map<string, string>();
  for (const id of toolIds) {
    const name = encodeToolId(id);
    const other = ids.get(name);
    if (other !== undefined) {
      const why = other === id ? 'it is offered twice' : `its vendor name ${name} is also that of ${other}`;
      throw new PerdureError('invalid_config', `Tool ${id} cannot be offered to a model: ${why}`);
    }
    vendorNames.set(id, name);
    ids.set(name, id);
  }
  return {
    toVendor: (name) => vendorNames.get(name) ?? encodePastName(name, ids),
    fromVendor: (name) => ids.get(name) ?? decodeName(name),
  };
}

function encodeToolId(id: string): string {
  if (!TOOL_ID_PATTERN.test(id)) {
    const why = 'its id is not canonical (service.toolset.tool, each in [a-z][a-z0-9_]*)';
    throw new PerdureError('invalid_config', `Tool ${JSON.stringify(id)} cannot be offered to a model: ${why}`);
  }
  const name = id.replaceAll('.', '-');
  return name.length <= MAX_LENGTH ? name : shorten(name, id);
}

function decodeName(name: string): string {
  const id = name.replaceAll('-', '.');
  return TOOL_ID_PATTERN.test(id) ? id : name;
}

/** An invented name that reads like a tool of this request must not be taken for a call of it. */
function encodePastName(name: string, taken: ReadonlyMap<string, string>): string {
  if (TOOL_ID_PATTERN.test(name)) return encodeToolId(name);
  if (VENDOR_NAME_PATTERN.test(name) && !taken.has(name)) return name;
  return shorten(name.replaceAll(/[^a-zA-Z0-9_-]+/g, '_'), name);
}

function shorten(name: string, digested: string): string {
  const digest = createHash('sha256').update(digested).digest('hex').slice(0, DIGEST_LENGTH);
  return `${name.slice(0, MAX_LENGTH - DIGEST_LENGTH - 2)}--${digest}`;
}
