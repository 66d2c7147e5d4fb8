/** The web tools in runs on the real server, with a site on a real socket: the scroll contract, and what readers see. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DurableEvent } from '../../../contract/events.js';
import { linesOf, tellAll } from '../../dialects/tell-all.js';
import { script } from '../../support/test-agents.js';
import { collect, createWorld, ofType } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { settled } from '../../threads/thread-world.js';
import {
  child,
  DOCUMENTS_URL,
  inTurn,
  readPage,
  scroll,
  search,
  searchPage,
  toolsetConfig,
} from '../toolset-agents.js';
import { longPage, markersIn } from './long-page.js';
import { redirect, startSite } from './site.js';
import type { Site } from './site.js';

let world: World;
let site: Site;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-docs-'));
  await writeFile(join(folder, 'harbour.md'), '# The harbour\n\nThe harbour of Oslo has forty piers.');
  site = await startSite();
  world = await createWorld(toolsetConfig({ folder, fetch: { allow_private_addresses: [site.endpoint] } }));
});
afterAll(async () => {
  await world.end();
  await site.end();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  site.html('/long', longPage());
  site.answer('/moved', redirect('/long'));
  site.asked.length = 0;
});

type Turns = Parameters<typeof script>[0];
const long = () => `${site.origin}/long`;
const run = (turns: Turns) => world.run('test.desk', script(turns));
/** A result in a few letters: the parts of the page that it shows, what blocked it, or its failure. */
const inShort = (log: readonly DurableEvent[]) =>
  ofType(log, 'tool_result').map((event) => {
    if (event.status === 'error') return event.failure.kind;
    const content = String(event.content);
    if (content.startsWith('🛑')) return content.includes('after a search') ? '🛑 gate' : '🛑 limit';
    return content.startsWith('This is page') ? (/^This is page (\d)/.exec(content)?.[1] ?? '') : content.slice(0, 8);
  });

describe('reading', () => {
  it('a page gives its first part, marked as not trusted, and how many there are', async () => {
    const [result] = ofType(await run(inTurn(readPage(long()))), 'tool_result');
    const content = String(result?.content);
    expect(content).toMatch(/^This is page 0; the web page has pages 0 to 3\. .*not trusted/);
    expect(content).toContain(`URL: ${long()}\nTitle: A long page\n`);
    expect(markersIn(content)).toEqual(['m0m']);
  });

  it('a search in it says on which page a passage is', async () => {
    const [result] = ofType(await run(inTurn(searchPage(long(), 'marker m2m'))), 'tool_result');
    expect(String(result?.content)).toMatch(/^Passages: 4 of 4\. The web page has pages 0 to 3\./);
    expect(String(result?.content)).toContain('Page 2: The marker of part 2 is m2m. ');
  });

  it('documents of the local index are found and read without a network', async () => {
    const [found, page] = ofType(
      await run(inTurn(search('piers'), readPage(`${DOCUMENTS_URL}harbour.md`))),
      'tool_result',
    );
    expect(String(found?.content)).toContain(`1. The harbour\n${DOCUMENTS_URL}harbour.md\n`);
    expect(String(page?.content)).toContain('The harbour of Oslo has forty piers.');
    expect(site.asked).toEqual([]);
  });

  it('what may not be fetched is a failure that the model can go on from', async () => {
    const log = await run(
      inTurn(readPage('http://169.254.169.254/latest/'), readPage('file:///etc/passwd'), readPage('x')),
    );
    expect(inShort(log)).toEqual(['denied', 'denied', 'invalid_call']);
    expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
  });

  it('a page is fetched once for the calls of a run, and anew for another run', async () => {
    await run(inTurn(readPage(long()), searchPage(long(), 'marker'), scroll(`${long()}#part`, 1)));
    expect(site.asked).toEqual(['/long']);
    await run(inTurn(readPage(long())));
    expect(site.asked).toEqual(['/long', '/long']);
  });
});

describe('the scroll contract', () => {
  it('pages beyond 0 are blocked until the page was searched; the message is a notice too', async () => {
    const log = await run(
      inTurn(scroll(long(), 0), scroll(long(), 1), searchPage(long(), 'marker'), scroll(long(), 1)),
    );
    expect(inShort(log)).toEqual(['0', '🛑 gate', 'Passages', '1']);
    const blocked = ofType(log, 'tool_result')[1];
    expect(String(blocked?.content)).toMatch(/^🛑 .*Call search_web_page/);
    expect(ofType(log, 'notice_posted').map(({ text }) => text)).toEqual([blocked?.content]);
  });

  it('a search that finds nothing opens the gate, one that fails does not', async () => {
    expect(inShort(await run(inTurn(searchPage(long(), 'zanzibar'), scroll(long(), 1))))).toEqual(['Nothing ', '1']);
    const absent = `${site.origin}/absent`;
    const log = await run(inTurn(searchPage(absent, 'marker'), scroll(absent, 1)));
    expect(inShort(log)).toEqual(['unavailable', '🛑 gate']);
  });

  it('three scrolls for a URL and run, then a message that says what to do', async () => {
    const log = await run(
      inTurn(searchPage(long(), 'marker'), ...[1, 2, 3, 1, 0].map((page) => scroll(long(), page)), readPage(long())),
    );
    expect(inShort(log)).toEqual(['Passages', '1', '2', '3', '🛑 limit', '🛑 limit', '0']);
    expect(ofType(log, 'notice_posted').map(({ text }) => text.slice(0, 2))).toEqual(['🛑', '🛑']);
    expect(ofType(log, 'notice_posted')[0]?.text).toMatch(/scrolled 3 times in this run.*search_web_page/);
  });

  it('two parallel scrolls at the count of two give exactly one page and one 🛑', async () => {
    const log = await run([
      { tool_calls: [searchPage(long(), 'marker')] },
      { tool_calls: [scroll(long(), 1)] },
      { tool_calls: [scroll(long(), 2)] },
      { tool_calls: [scroll(long(), 3), scroll(long(), 3)] },
      { text: 'Done.' },
    ]);
    const [, , , ...last] = inShort(log);
    expect(last.toSorted()).toEqual(['3', '🛑 limit']);
    expect(ofType(log, 'notice_posted')).toHaveLength(1);
    const blocked = ofType(log, 'tool_result').find(({ content }) => String(content).startsWith('🛑'));
    expect(markersIn(blocked?.content)).toEqual([]);
    expect(ofType(log, 'notice_posted')[0]).toMatchObject({ tool_call_id: blocked?.tool_call_id });
  });

  it('other spellings of a URL are the same URL, another query is another one', async () => {
    const upper = long().replace('http', 'HTTP');
    const log = await run(
      inTurn(
        searchPage(`${long()}#a`, 'marker'),
        scroll(upper, 1),
        scroll(`${long()}#b`, 2),
        scroll(long(), 3),
        scroll(`${long()}#c`, 1),
        scroll(`${long()}?page=1`, 1),
      ),
    );
    expect(inShort(log)).toEqual(['Passages', '1', '2', '3', '🛑 limit', '🛑 gate']);
  });

  it('a URL that redirects is counted under both names', async () => {
    const moved = `${site.origin}/moved`;
    const log = await run(
      inTurn(searchPage(moved, 'marker'), scroll(moved, 1), scroll(long(), 2), scroll(long(), 3), scroll(moved, 1)),
    );
    expect(inShort(log)).toEqual(['Passages', '1', '2', '3', '🛑 limit']);
    const again = await run(
      inTurn(
        searchPage(moved, 'marker'),
        ...[1, 2, 3].map((page) => scroll(moved, page)),
        scroll(long(), 1),
        scroll(moved, 1),
      ),
    );
    expect(inShort(again)).toEqual(['Passages', '1', '2', '3', '🛑 limit', '🛑 limit']);
  });

  it('a call that gives no page counts too, unless it was blocked', async () => {
    let broken = true;
    site.answer('/flaky', (_request, response) => {
      response.writeHead(broken ? 404 : 200, { 'content-type': 'text/html', 'cache-control': 'no-store' });
      response.end(longPage());
    });
    const flaky = `${site.origin}/flaky`;
    const failing = await run(inTurn(scroll(flaky, 0), scroll(flaky, 0), scroll(flaky, 0), scroll(flaky, 0)));
    expect(inShort(failing)).toEqual(['unavailable', 'unavailable', 'unavailable', '🛑 limit']);
    expect(ofType(failing, 'notice_posted')).toHaveLength(1);
    broken = false;
    const log = await run(
      inTurn(
        scroll(flaky, 1),
        searchPage(flaky, 'marker'),
        scroll(flaky, 9),
        ...[1, 2, 3, 1].map((page) => scroll(flaky, page)),
      ),
    );
    expect(inShort(log)).toEqual(['🛑 gate', 'Passages', 'invalid_call', '1', '2', '🛑 limit', '🛑 limit']);
  });

  it('in a tree the gate is one and the counters are each run’s own', async () => {
    const scrolls = [1, 2, 3, 1].map((page) => scroll(long(), page));
    const below = inTurn(searchPage(long(), 'marker'), ...scrolls);
    const log = await run(inTurn(scroll(long(), 1), child(below), ...scrolls));
    expect(inShort(log)).toEqual(['🛑 gate', 'Done.', '1', '2', '3', '🛑 limit']);
    const [link] = ofType(log, 'agent_run_started');
    expect(inShort(await world.logOf(link?.link.run_id ?? ''))).toEqual(['Passages', '1', '2', '3', '🛑 limit']);
  });

  it('in a thread the gate stays open for the next turn, and the counters begin anew', async () => {
    const { threads } = world.client;
    const turns: Turns = [
      { tool_calls: [searchPage(long(), 'marker')] },
      { tool_calls: [1, 2, 3].map((page) => scroll(long(), page)) },
      { text: 'The first turn.' },
      { tool_calls: [scroll(long(), 1)] },
      { text: 'The second turn.' },
    ];
    const { thread_id } = await threads.start({ agent_id: 'test.desk', messages: [script(turns)] });
    await settled(threads, thread_id);
    await threads.send(thread_id, { message: 'Go on.' });
    await settled(threads, thread_id);
    expect(inShort(await world.logOf(`${thread_id}/turn_1`)).toSorted()).toEqual(['1', '2', '3', 'Passages']);
    expect(inShort(await world.logOf(`${thread_id}/turn_2`))).toEqual(['1']);
  });
});

describe('the lines of event_contract', () => {
  it('tell each operation from its start to its end, and nothing of another’s fields', async () => {
    const turns = inTurn(
      search('piers'),
      readPage(long()),
      searchPage(long(), 'm2m'),
      scroll(long(), 2),
      readPage(`${site.origin}/absent`),
    );
    const { run_id } = await world.client.runs.start({ agent_id: 'test.desk', input: script(turns) });
    const stream = await collect(world.client.runs.stream(run_id));
    const lines = linesOf(tellAll('event_contract', stream)).map(({ data }) => data as Record<string, string>);
    const statuses = lines.filter(({ type }) => type === 'web_status');
    for (const line of statuses) expect(Object.keys(line)).toEqual(['type', 'run_id', 'status', 'tool', 'message']);
    expect(statuses.map(({ tool, status, message }) => `${tool} ${status}: ${message}`)).toEqual([
      'perform_web_search started: Calling perform_web_search...',
      "perform_web_search in_progress: Querying search engine: 'piers'...",
      'perform_web_search success: perform_web_search has finished.',
      'read_web_page started: Calling read_web_page...',
      `read_web_page in_progress: Reading web page: ${long()}...`,
      'read_web_page success: read_web_page has finished.',
      'search_web_page started: Calling search_web_page...',
      `search_web_page in_progress: Searching web page for 'm2m': ${long()}...`,
      'search_web_page success: search_web_page has finished.',
      'scroll_web_page started: Calling scroll_web_page...',
      `scroll_web_page in_progress: Scrolling to page 2: ${long()}...`,
      'scroll_web_page success: scroll_web_page has finished.',
      'read_web_page started: Calling read_web_page...',
      `read_web_page in_progress: Reading web page: ${site.origin}/absent...`,
      `read_web_page failed: ${site.origin}/absent answered 404: there is no such page. Check the URL, or search.`,
    ]);
    const late = linesOf(tellAll('event_contract', await world.logOf(run_id))).map(({ data }) => data);
    expect(late.filter((data) => (data as { type: string }).type === 'web_status')).toEqual(statuses);
  });

  it('show a 🛑 as content, once', async () => {
    const log = await run(inTurn(scroll(long(), 1)));
    const content = linesOf(tellAll('event_contract', log))
      .map(({ data }) => data as { type: string; content?: string })
      .filter(({ type }) => type === 'content');
    expect(content.map((line) => line.content?.slice(0, 2))).toEqual(['🛑', 'Do']);
  });
});
