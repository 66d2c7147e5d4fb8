/** Files and long outputs of a run over HTTP: who gets them, and how a client may ask. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { EventOf } from '../../contract/events.js';
import { createRouter } from '../../dialects/index.js';
import { defineAgent, defineTool } from '../../kit/index.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { createOrgs, runPath, serveFor } from './gateway-world.js';
import type { Caller, GatewayWorld, Orgs } from './gateway-world.js';

const File = z.object({ filename: z.string(), mime_type: z.string(), content: z.string() });
/** A content that is many times as long as what asks for it. */
const numbered = (lines: number) => Array.from({ length: lines }, (_, line) => `${line}\n`).join('');
const LINES = 90_000;
const makeFiles = defineTool({
  tool_id: 'test.files.make',
  description: 'Makes files.',
  input: z.object({ files: z.array(File) }),
  async run({ files }, { file }) {
    for (const { content, ...each } of files)
      await file({ ...each, content: content === 'numbered' ? numbered(LINES) : content });
    return 'made';
  },
});

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let [ann, gus, counter]: Caller[] = [];
let letters: Awaited<ReturnType<typeof made>>;

beforeAll(async () => {
  const config = testConfig();
  const [agent] = config.agents;
  const tools = [...(agent?.options.tools ?? []), makeFiles];
  const maker = defineAgent({ agent_id: 'test.node', instructions: 'Follow the script.', tools });
  world = await createWorld({ ...config, agents: [maker] });
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { limits: { requests_per_second: 1_000, request_burst: 1_000 } });
  const metrics = await orgs.keys.create({
    org_id: orgs.acme,
    user_id: 'max',
    role: 'member',
    profiles: ['metrics'],
  });
  [ann, gus, counter] = [orgs.ann, orgs.gus, metrics.key].map((key) => gateway.as(key));
  letters = await made(ABC);
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

const ABC = { filename: 'letters.txt', mime_type: 'text/plain', content: 'abcdefghij' };

/** A run of these calls, and the files that its log names. */
async function run(calls: { tool: string; args: unknown }[], by: Caller = ann!) {
  const input = script([{ tool_calls: calls }, { text: 'done' }]);
  const { body, text } = await by.post('/v1/runs', { agent_id: 'test.node', input });
  expect(body['run_id'], text).toBeDefined();
  const run_id = body['run_id'] as string;
  const log = await world.logOf(run_id);
  return { run_id, log, files: ofType(log, 'file_generated') };
}

async function made(
  ...files: z.infer<typeof File>[]
): Promise<{ run_id: string; path: string; file: EventOf<'file_generated'> }> {
  const { run_id, files: events } = await run([call('files.make', { files })]);
  const [file] = events;
  if (file === undefined) throw new Error('no file');
  return { run_id, file, path: runPath(run_id, `/artefacts/${file.file_id}`) };
}

const errorOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
  status,
  (body['error'] as { code: string } | undefined)?.code,
];

describe('a file', () => {
  it('comes as a download of its type and size, which no browser takes for a page', async () => {
    const { path, file } = letters;
    expect(file).toMatchObject({ filename: 'letters.txt', mime_type: 'text/plain', byte_size: 10 });
    const { status, text, headers } = await ann!.get(path);
    expect([status, text]).toEqual([200, 'abcdefghij']);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '10',
      'content-disposition': `attachment; filename="letters.txt"; filename*=UTF-8''letters.txt`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-cache',
      'accept-ranges': 'bytes',
      etag: `"${file.file_id}"`,
    });
  });

  it.each([
    ['../../etc/übung "1".txt', `attachment; filename="_bung _1_.txt"; filename*=UTF-8''%C3%BCbung%20%221%22.txt`],
    [
      'a\r\nset-cookie: x.txt',
      `attachment; filename="a__set-cookie_ x.txt"; filename*=UTF-8''a%0D%0Aset-cookie%3A%20x.txt`,
    ],
    ["C:\\x\\it's(1).txt", `attachment; filename="it_s(1).txt"; filename*=UTF-8''it%27s%281%29.txt`],
    ['\ud800.txt', `attachment; filename="_.txt"; filename*=UTF-8''%EF%BF%BD.txt`],
  ])('named %j has a header that is safe', async (filename, expected) => {
    const { path } = await made({ ...ABC, filename, mime_type: 'text/html\r\nx-evil: 1' });
    const { headers } = await ann!.get(path);
    expect(headers.get('content-disposition')).toBe(expected);
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect([...headers.keys()]).not.toContain('x-evil');
    expect([...headers.keys()]).not.toContain('set-cookie');
  });

  it('can be asked about without being sent, and is not sent again to who has it', async () => {
    const { path, file } = letters;
    const head = await fetch(gateway.url + path, { method: 'HEAD', headers: { authorization: `Bearer ${orgs.ann}` } });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', '']);
    for (const tag of [`"${file.file_id}"`, `"x", W/"${file.file_id}"`, '*']) {
      const { status, text } = await ann!.get(path, { 'if-none-match': tag });
      expect([status, text]).toEqual([304, '']);
    }
    expect((await ann!.get(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it.each([
    ['bytes=0-3', 206, 'abcd', 'bytes 0-3/10'],
    ['bytes=4-', 206, 'efghij', 'bytes 4-9/10'],
    ['bytes=-3', 206, 'hij', 'bytes 7-9/10'],
    ['bytes=8-100', 206, 'ij', 'bytes 8-9/10'],
    ['bytes=-100', 206, 'abcdefghij', 'bytes 0-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    ['bytes=5-2', 200, 'abcdefghij', null],
    ['bytes=0-1,3-4', 200, 'abcdefghij', null],
    ['lines=0-1', 200, 'abcdefghij', null],
  ])('asked for as %s', async (range, status, text, contentRange) => {
    const { path } = letters;
    const answer = await ann!.get(path, { range });
    expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([status, text, contentRange]);
    if (status !== 416) expect(answer.headers.get('content-length')).toBe(String(text.length));
  });

  it('is sent whole where the range is of another one', async () => {
    const { path, file } = letters;
    const asked = async (tag: string) => (await ann!.get(path, { range: 'bytes=0-1', 'if-range': tag })).text;
    expect(await asked(`"${file.file_id}"`)).toBe('ab');
    expect(await asked('"other"')).toBe('abcdefghij');
  });

  it('of no bytes, and one of many pieces, come as they are', async () => {
    const empty = await made({ ...ABC, content: '' });
    const { status, text, headers } = await ann!.get(empty.path);
    expect([status, text, headers.get('content-length')]).toEqual([200, '', '0']);
    expect((await ann!.get(empty.path, { range: 'bytes=0-' })).status).toBe(416);
    const content = numbered(LINES);
    const large = await made({ ...ABC, content: 'numbered' });
    expect((await ann!.get(large.path)).text).toBe(content);
    expect((await ann!.get(large.path, { range: 'bytes=262140-262150' })).text).toBe(content.slice(262_140, 262_151));
  });
});

describe('an output that is too long for the log', () => {
  it('comes whole, as text', async () => {
    const { run_id, log } = await run([call('outputs.big', { bytes: 100_000, ran: '/dev/null' })]);
    const [result] = ofType(log, 'tool_result');
    const { text, headers } = await ann!.get(runPath(run_id, `/artefacts/${result?.output_ref?.id}`));
    expect(text.length).toBe(100_000);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(headers.get('content-disposition')).toContain('filename="call_1_1.txt"');
  });
});

describe('nobody gets', () => {
  it('an artefact that the run does not name, though it is there', async () => {
    const one = await made({ ...ABC, content: 'of one run' });
    const { run_id } = await made({ ...ABC, content: 'of another' });
    expect(errorOf(await ann!.get(runPath(run_id, `/artefacts/${one.file.file_id}`)))).toEqual([
      404,
      'unknown_artefact',
    ]);
    for (const id of ['x', '%2e%2e', 'sha256_0', '%zz'])
      expect(errorOf(await ann!.get(runPath(run_id, `/artefacts/${id}`)))[0], id).toBe(404);
  });

  it('one of another org, by its run or by one of their own', async () => {
    const { path, file } = await made({ ...ABC, content: 'of acme' });
    expect(errorOf(await gus!.get(path))).toEqual([404, 'unknown_run']);
    const own = await run([], gus);
    expect(errorOf(await gus!.get(runPath(own.run_id, `/artefacts/${file.file_id}`)))).toEqual([
      404,
      'unknown_artefact',
    ]);
  });

  it('one that the profile does not show', async () => {
    const { path } = await made({ ...ABC, content: 'for users' });
    expect((await ann!.get(`${path}?profile=user_chat`)).text).toBe('for users');
    expect(errorOf(await counter!.get(path))).toEqual([404, 'unknown_artefact']);
    const { run_id, log } = await run([call('outputs.big', { bytes: 100_000, ran: '/dev/null' })]);
    const output = runPath(run_id, `/artefacts/${ofType(log, 'tool_result')[0]?.output_ref?.id}`);
    expect((await ann!.get(output)).status).toBe(200);
    expect(errorOf(await ann!.get(`${output}?profile=user_chat`))).toEqual([404, 'unknown_artefact']);
  });
});

describe('the event contract over HTTP', () => {
  const lines = async (by: Caller, path: string) =>
    (await by.get(path)).text
      .split('\n')
      .filter((line) => line.includes('"generated_file"'))
      .map((line) => JSON.parse(line) as { url?: string; file_id: string });

  it('says where a file is, in an address that needs no credential; the log has none', async () => {
    const { run_id, file } = await made({ ...ABC, content: 'with an address' });
    expect(file).not.toHaveProperty('url');
    const stream = runPath(run_id, '/events?dialect=event_contract&format=ndjson');
    const [line] = await lines(ann!, stream);
    expect(line).toEqual({
      type: 'generated_file',
      run_id,
      filename: 'letters.txt',
      mime_type: 'text/plain',
      file_id: file.file_id,
      url: expect.stringMatching(/^\/v1\/files\//),
    });
    expect((await gateway.as().get(line?.url ?? '')).text).toBe('with an address');
    expect(await lines(ann!, `${stream}&profile=user_chat`)).toEqual([line]);
    expect((await lines(counter!, stream))[0]).not.toHaveProperty('url');
  });

  it('has each of two files of the same bytes, and each comes under its own name', async () => {
    const content = 'the same';
    const { run_id, file } = await made({ ...ABC, content }, { filename: 'b.csv', mime_type: 'text/csv', content });
    const stream = runPath(run_id, '/events?dialect=event_contract&format=ndjson');
    const router = createRouter();
    const shown = router.push((await ann!.get(stream)).text).flatMap((item) => (item.to === 'file' ? [item] : []));
    expect(shown.map(({ filename, mime_type }) => [filename, mime_type])).toEqual([
      ['letters.txt', 'text/plain'],
      ['b.csv', 'text/csv'],
    ]);
    for (const { url = '', filename, file_id } of shown) {
      for (const path of [url, runPath(run_id, `/artefacts/${file_id}`)]) {
        const { text, headers } = await ann!.get(path);
        expect([text, headers.get('content-disposition')]).toEqual([content, expect.stringContaining(`"${filename}"`)]);
      }
    }
    const [one, other] = shown.map(({ file_id }) => file_id.split('.'));
    expect([one?.[0], one?.join('.')]).toEqual([other?.[0], file.file_id]);
    // Whoever may not know a name gets nothing that is made of it.
    expect(new Set((await lines(counter!, stream)).map(({ file_id }) => file_id))).toEqual(new Set([one?.[0]]));
  });
});
