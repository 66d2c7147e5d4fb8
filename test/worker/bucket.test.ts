/**
 * Worker and reader on machines that share no disk, only a bucket, and that fails one call in five: nothing is lost and
 * nothing is doubled. On a server of its own, since what its runs leave in the bucket goes with the bucket.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { scopeOf } from '../../contract/artefacts.js';
import { defineAgent, defineTool } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import { connectClient } from '../../worker/create-worker.js';
import type { ConnectedClient } from '../../worker/create-worker.js';
import { startFlakyBucket } from '../support/flaky-bucket.js';
import type { FlakyBucket } from '../support/flaky-bucket.js';
import { startOwnServer } from '../support/kept-histories.js';
import type { OwnServer } from '../support/kept-histories.js';
import { createBucket, startS3IfPossible } from '../support/s3.js';
import type { S3Server } from '../support/s3.js';
import { script } from '../support/test-agents.js';
import { testKey } from '../support/test-keys.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const report = (line: string) => void process.stderr.write(`${line}\n`);
const s3 = await startS3IfPossible(report);
const RUNS = 10;

const make = defineTool({
  tool_id: 'test.files.make',
  description: 'Makes a file, and a text that is too long for a log.',
  input: z.object({ n: z.number() }),
  idempotent: true,
  async run({ n }, { file }) {
    await file({ filename: `${n}.txt`, mime_type: 'text/plain', content: `file ${n}` });
    return `output ${n} `.repeat(20_000);
  },
});

describe.skipIf(s3 === undefined)('machines that share a bucket', () => {
  let flaky: FlakyBucket;
  let server: OwnServer;
  let world: World;
  let reader: ConnectedClient;
  let bucket = '';
  let folders: string[] = [];

  beforeAll(async () => {
    const { endpoint, accessKeyId, secretAccessKey } = s3 as S3Server;
    vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey);
    flaky = await startFlakyBucket(endpoint, 5);
    bucket = await createBucket(s3 as S3Server);
    folders = await Promise.all(['worker', 'reader'].map((name) => mkdtemp(join(tmpdir(), `perdure-${name}-`))));
    const payloads = join((s3 as S3Server).folder, bucket, 'perdure', 'payloads');
    server = await startOwnServer({ payloads });
    const storage = { s3: { bucket, endpoint: flaky.endpoint, prefix: 'perdure' }, keys: [testKey('k1')] };
    const agent = defineAgent({ agent_id: 'test.maker', instructions: 'Follow the script.', tools: [make] });
    const models = { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } };
    const [dataDir = '', otherDir = ''] = folders;
    world = await createWorld({ models, agents: [agent] }, { address: server.address, dataDir, storage });
    reader = await connectClient({ ...world.server, dataDir: otherDir, storage });
  }, 120_000);

  afterAll(async () => {
    await reader?.close();
    await world?.end();
    await server?.stop();
    await flaky?.stop();
    await s3?.stop();
    vi.unstubAllEnvs();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  it('read all that was said and made, though one call in five to the bucket fails', { timeout: 120_000 }, async () => {
    const { runs } = reader.client;
    const long = 'a long question '.repeat(15_000);
    const play = async (n: number) => {
      const turns = [{ tool_calls: [{ tool: make.options.tool_id, args: { n } }] }, { text: `answer ${n}` }];
      const input = script([...turns, { text: long }]);
      const { run_id } = await runs.start({ agent_id: 'test.maker', input });
      expect(await runs.result(run_id)).toMatchObject({ status: 'success', answer: `answer ${n}` });
      const log = await world.logOf(run_id);
      const [result] = ofType(log, 'tool_result');
      const [file] = ofType(log, 'file_generated');
      const read = async (id: string | undefined) =>
        Buffer.from(await reader.artefacts.of(scopeOf(run_id)).read(id ?? '')).toString();
      expect(await read(file?.file_id)).toBe(`file ${n}`);
      expect(await read(result?.output_ref?.id)).toBe(`output ${n} `.repeat(20_000));
      expect(ofType(log, 'tool_result')).toHaveLength(1);
      expect(ofType(log, 'file_generated')).toHaveLength(1);
    };
    await Promise.all(Array.from({ length: RUNS }, (_item, n) => play(n)));
    expect(flaky.failed()).toBeGreaterThan(RUNS);
    // Two artefacts of each run, with their descriptions; and nothing on any disk.
    const names = await readdir(join((s3 as S3Server).folder, bucket, 'perdure', 'artefacts'), { recursive: true });
    const artefacts = names.filter((name) => /art_[0-9a-f]{64}$/.test(name));
    const described = names.filter((name) => /art_[0-9a-f]{64}\.json$/.test(name));
    expect([artefacts.length, described.length]).toEqual([2 * RUNS, 2 * RUNS]);
    for (const folder of folders) expect(await readdir(folder)).toEqual([]);
  });
});
