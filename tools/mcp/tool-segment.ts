/**
 * The last segment of a tool's id out of the name that the server gave it: `createIssue` and `create-issue` are
 * `create_issue`. What begins with `client_`, as the tools of callers do, or with no letter, gets `t_` in front. Two
 * names of one server that would be the same are refused where they are pinned, and each is pinned with its name, so
 * the way back is exact.
 */
import { CLIENT_TOOL_NAME_PREFIX } from '../../contract/ids.js';

const CANONICAL = /^[a-z][a-z0-9_]*$/;

export function toolSegment(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
  const segment = Array.from(words, canonical).join('');
  return CANONICAL.test(segment) && !segment.startsWith(CLIENT_TOOL_NAME_PREFIX) ? segment : `t_${segment}`;
}

function canonical(character: string): string {
  if (/[a-z0-9_]/.test(character)) return character;
  const point = character.codePointAt(0) ?? 0;
  return point < 0x80 ? '_' : `_u${point.toString(16)}`;
}
