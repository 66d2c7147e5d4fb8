/** A worker that dies between two scrolls, in the middle of one, and in the middle of writing a note. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { linesOf, tellAll } from '../dialects/tell-all.js';
import { script } from '../support/test-agents.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { ofType } from '../support/world.js';
import { HELD, inTurn, pad, scroll, searchPage } from '../tools/toolset-agents.js';
import { longPage } from '../tools/web/long-page.js';
import { startSite } from '../tools/web/site.js';
import type { Site } from '../tools/web/site.js';
import { createCrashWorld, eventually, TEST_TIMEOUT_MS } from './crash-world.js';
import type { CrashWorld, Reader } from './crash-world.js';
import { expectSameEvents, expectSameStory, expectWholeStory } from './same-story.js';

describe('a worker killed with SIGKILL', { timeout: TEST_TIMEOUT_MS }, () => {
  let world: CrashWorld;
  let worker: WorkerProcess;
  let site: Site;
  /** The request that the site leaves without an answer, counted from now. */
  let ignored = 0;
  const start = () =>
    world.startWorker({}, { folder: world.dataDir, fetch: { allow_private_addresses: [site.endpoint] } });

  beforeAll(async () => {
    site = await startSite();
    site.answer('/long', (_request, response) => {
      ignored -= 1;
      if (ignored === 0) return;
      // Not to be kept: each call has to fetch it, so each can be caught at it.
      response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-store' }).end(longPage());
    });
    world = await createCrashWorld(inject('temporalAddress'));
    worker = await start();
  }, TEST_TIMEOUT_MS);
  afterAll(async () => {
    await world.end();
    await site.end();
  });

  async function kill(): Promise<void> {
    worker.kill('SIGKILL');
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
    worker = await start();
  }

  const hasResult = (reader: Reader, id: string) =>
    reader.events.some((event) => event.type === 'tool_result' && event.tool_call_id === id);

  it('in the middle of a scroll, and between two: what was given is counted, and nothing else', async () => {
    const url = `${site.origin}/long`;
    const slowly = Array.from({ length: 40 }, (_, n) => `word${n} `);
    const story = script([
      { tool_calls: [searchPage(url, 'marker')] },
      { tool_calls: [scroll(url, 1)] },
      { tool_calls: [scroll(url, 2)] },
      { text: slowly, delay_ms: 60, tool_calls: [scroll(url, 3)] },
      { tool_calls: [scroll(url, 1)] },
      { text: 'Done.' },
    ]);
    const undisturbed = await world.run('test.desk', story);

    // The search is answered, the first scroll is not.
    ignored = 2;
    const reader = await world.read('test.desk', story);
    await eventually(() => ignored === 0, 'a request for the page of the first scroll');
    expect(hasResult(reader, 'call_2_1')).toBe(false);
    await kill();
    await eventually(() => hasResult(reader, 'call_3_1'), 'the second scroll');
    expect(hasResult(reader, 'call_4_1')).toBe(false);
    await kill();
    await reader.done;

    const log = expectWholeStory(reader);
    expectSameStory(log, undisturbed);
    expectSameEvents(await world.logOf(reader.runId), log);
    const results = ofType(log, 'tool_result');
    expect(results.map(({ content }) => /^(This is page \d|🛑|Passages)/.exec(String(content))?.[0])).toEqual([
      'Passages',
      'This is page 1',
      'This is page 2',
      'This is page 3',
      '🛑',
    ]);
    expect(results[1]?.attempts).toBe(2);
    expect(ofType(log, 'notice_posted').map(({ text }) => text)).toEqual([results[4]?.content]);
  });

  it('in the middle of writing a note: the note is there once, and its readers were told once', async () => {
    const noted = `📌 Two ${HELD}`;
    const reader = await world.read(
      'test.desk',
      script(inTurn(pad('append', { entry: '📌 One' }), pad('append', { entry: noted }), pad('read'))),
    );
    const isHeld = () => reader.events.some((event) => event.type === 'tool_progress' && event.message === HELD);
    await eventually(isHeld, 'the note to be written');
    await kill();
    await reader.done;

    const log = expectWholeStory(reader);
    const results = ofType(log, 'tool_result');
    expect(results.map(({ content }) => content)).toEqual(['Written.', 'Written.', `📌 One [1]\n${noted} [2]`]);
    expect(results[1]?.attempts).toBe(2);
    const entries = linesOf(tellAll('event_contract', reader.events))
      .map(({ data }) => data as { type: string; state?: string; entry?: string })
      .filter(({ type, state }) => type === 'scratchpad_status' && state === 'success')
      .map(({ entry }) => entry);
    expect(entries).toEqual(['📌 One', noted, `📌 One [1]\n${noted} [2]`]);
  });
});
