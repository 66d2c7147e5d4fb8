/** Pages of stored agents: nothing twice, nothing left out. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StoredAgent } from '../../../contract/stored-agent.js';
import { pageOf } from '../../../gateway/routes/agents/agent-pages.js';

/** Newest first; many are of the same moment. */
function agents(count: number): StoredAgent[] {
  return Array.from({ length: count }, (_, n) => {
    const created = `2026-01-01T00:00:${String(59 - Math.floor(n / 30)).padStart(2, '0')}.000Z`;
    const agent_id = `agt_${String(999 - n)}`;
    const owner = { org_id: 'acme', created, created_by: 'ann', modified: created, modified_by: 'ann' };
    return { agent_id, name: agent_id, description: null, request_template: {}, variables: [], ...owner };
  });
}

function readAll(all: readonly StoredAgent[], between: (all: readonly StoredAgent[]) => readonly StoredAgent[]) {
  const read: StoredAgent[] = [];
  let token: string | undefined;
  let now = all;
  for (let pages = 1; ; pages++) {
    const { items, nextToken } = pageOf(now, token);
    read.push(...items);
    if (nextToken === null) return { ids: read.map(({ agent_id }) => agent_id), pages };
    token = nextToken;
    now = between(now);
  }
}

describe('pages of stored agents', () => {
  it.each([
    [0, 1],
    [1, 1],
    [50, 1],
    [51, 2],
    [100, 2],
    [151, 4],
  ])('of %i agents are %i, and have each once', (count, expected) => {
    const all = agents(count);
    expect(readAll(all, (now) => now)).toEqual({ ids: all.map(({ agent_id }) => agent_id), pages: expected });
  });

  it('have each that stays once, whichever go in between', () => {
    const all = agents(200);
    fc.assert(
      fc.property(fc.array(fc.nat(199)), (numbers) => {
        const gone = new Set(numbers.map((n) => all[n]?.agent_id));
        const { ids } = readAll(all, (now) => now.filter(({ agent_id }) => !gone.has(agent_id)));
        expect(new Set(ids).size).toBe(ids.length);
        const stay = all.map(({ agent_id }) => agent_id).filter((id) => !gone.has(id));
        expect(ids.filter((id) => !gone.has(id))).toEqual(stay);
      }),
    );
  });

  it('are not given for a token of another kind', () => {
    for (const token of [
      '',
      'x',
      'bm90IG9uZQ',
      Buffer.from('{}').toString('base64url'),
      Buffer.from('[1,2]').toString('base64url'),
    ]) {
      expect(() => pageOf(agents(3), token)).toThrow(/page_token is none that was given out here/);
    }
  });
});
