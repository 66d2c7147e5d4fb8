import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../kit/index.js';
import { scripted } from '../../providers/index.js';
import { INLINE_LIMIT_BYTES } from '../../contract/sizes.js';
import { projectTranscript } from '../../contract/transcript.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';

describe('large outputs', () => {
  let world: World;
  let folder: string;
  beforeAll(async () => {
    world = await createWorld(testConfig());
    folder = await mkdtemp(join(tmpdir(), 'perdure-outputs-'));
  });
  afterAll(async () => {
    await world.end();
    await rm(folder, { recursive: true, force: true });
  });

  for (const megabytes of [5, 50]) {
    it(`a tool result of ${megabytes} MB runs the tool once and reaches the model trimmed, with a reference`, async () => {
      const bytes = megabytes * 1024 * 1024;
      const ran = join(folder, `ran-${megabytes}`);
      const log = await world.run(
        'test.agent',
        script([{ tool_calls: [call('outputs.big', { bytes, ran })] }, { text: 'I see.' }]),
      );
      expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'I see.' });
      expect(await readFile(ran, 'utf8')).toBe('ran\n');
      const [result] = ofType(log, 'tool_result');
      expect(result).toMatchObject({ status: 'success', trimmed: true, attempts: 1, output_ref: { byte_size: bytes } });
      const message = projectTranscript(log).find((candidate) => candidate.role === 'tool');
      expect(message).toMatchObject({ trimmed: true, output_ref: { byte_size: bytes } });
      expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(INLINE_LIMIT_BYTES);
      const whole = await world.artefacts.of(result?.run_id ?? '').read(result?.output_ref?.id ?? '');
      expect(whole.byteLength).toBe(bytes);
    });
  }

  it('the model reads on in a trimmed output, at the offset that the notice gives', async () => {
    const bytes = 200 * 1024;
    const big = call('outputs.big', { bytes, ran: join(folder, 'ran') });
    const run_id = `reads-on-${randomUUID()}`;
    // An id is made of scope and content, so the script can know it: the same run is played up to there before.
    const rehearsal = await world.run('test.agent', script([{ tool_calls: [big] }, { text: 'ok' }]));
    const [rehearsed] = ofType(rehearsal, 'tool_result');
    const content = await world.artefacts.of(rehearsed!.run_id).read(rehearsed!.output_ref!.id);
    const { id: output_id } = await world.artefacts.of(run_id).put(content, 'text/plain; charset=utf-8');
    const offset = Buffer.byteLength(
      Buffer.from(content)
        .toString('utf8')
        .slice(0, 6 * 1024),
    );
    const next = { tool: 'runtime.outputs.read_output', args: { output_id, offset, length: 1000 } };
    const turns = [{ tool_calls: [big] }, { tool_calls: [next] }, { text: 'ok' }];
    const log = await world.run('test.agent', script(turns), { run_id });
    const [trimmed, read] = ofType(log, 'tool_result');
    const notice = /read_output (\{[^}]*\})/.exec(String(trimmed?.content))?.[1] ?? '{}';
    expect(JSON.parse(notice)).toEqual({ output_id, offset });
    const whole = Buffer.from(content).toString('utf8');
    expect(read?.content).toBe(
      `${whole.slice(offset, offset + 1000)}\n\n[${bytes - offset - 1000} bytes follow; read on at offset ${offset + 1000}]`,
    );
  });

  describe('can be read on wherever they can come from', () => {
    const READ = 'runtime.outputs.read_output';
    const text = 'é'.repeat(100 * 1024);
    /** Calls the tool, reads on where the notice says, and ends; a model that is not offered it gives up. */
    const reading = (tool: string) =>
      scripted(({ messages, tools }) => {
        const last = messages.at(-1);
        const notice = /read_output (\{[^}]*\})/.exec(last?.role === 'tool' ? String(last.content) : '')?.[1];
        const reads = notice !== undefined && tools.some(({ name }) => name === READ);
        const turns = [
          { tool_calls: [{ tool }] },
          reads ? { tool_calls: [{ tool: READ, args: notice }] } : { text: 'I cannot read on.' },
          { text: 'I have read on.' },
        ];
        return { turns };
      });
    const big = defineTool({ tool_id: 'test.big.text', description: 'Much.', input: z.object({}), run: () => text });
    const worldWith = (provider: ReturnType<typeof reading>, options: Partial<Parameters<typeof defineAgent>[0]>) =>
      createWorld({
        models: { only: { provider, model: 'scripted-1' } },
        agents: [defineAgent({ agent_id: 'test.reader', instructions: 'Read.', ...options })],
      });

    it('from the caller’s own tools, of an agent that has none', async () => {
      const readers = await worldWith(reading('client.declared.client_look'), {});
      try {
        const client_tools = [{ name: 'client_look', description: 'Looks.', input_schema: { type: 'object' } }];
        const { run_id } = await readers.client.runs.start({ agent_id: 'test.reader', input: 'Look.', client_tools });
        for await (const event of readers.client.runs.stream(run_id)) {
          if (event.type !== 'await_external_tools') continue;
          const results = [{ tool_call_id: 'call_1_1', status: 'success' as const, output: text }];
          await readers.client.runs.submitToolResults(run_id, { results });
          break;
        }
        const log = await readers.logOf(run_id);
        expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'I have read on.' });
        expect(ofType(log, 'tool_result')[1]).toMatchObject({ tool_id: READ, status: 'success' });
      } finally {
        await readers.end();
      }
    });

    it.each([
      ['under an allow-list that does not name it', { allow: ['test.big.*'] }, 'I have read on.'],
      ['unless a deny-list does', { deny: ['runtime.outputs.read_output'] }, 'I cannot read on.'],
    ])('%s', async (_how, policy, answer) => {
      const readers = await worldWith(reading('test.big.text'), { tools: [big], policy });
      try {
        const log = await readers.run('test.reader', 'Read.');
        expect(log.at(-1)).toMatchObject({ status: 'success', answer });
      } finally {
        await readers.end();
      }
    });

    it('from the conversation before, in a fork, which has no tools of the caller’s any more', async () => {
      const client_tools = [{ name: 'client_look', description: 'Looks.', input_schema: { type: 'object' } }];
      const readers = await worldWith(
        scripted(({ messages, tools }) => {
          const notice = /read_output (\{[^}]*\})/.exec(JSON.stringify(messages).replaceAll('\\"', '"'))?.[1] ?? '{}';
          const isOffered = tools.some(({ name }) => name === READ);
          return {
            turns: [
              { tool_calls: [{ tool: 'client.declared.client_look' }] },
              { text: 'Long.' },
              isOffered ? { tool_calls: [{ tool: READ, args: notice }] } : { text: 'I cannot read on.' },
              { text: 'I have read on.' },
            ],
          };
        }),
        {},
      );
      try {
        const { threads } = readers.client;
        const { thread_id } = await threads.start({ agent_id: 'test.reader', messages: ['Look.'], client_tools });
        await settled(threads, thread_id);
        const tool_results = [{ tool_use_id: 'turn_1_call_1_1', status: 'success' as const, output: text }];
        await threads.submitToolResults(thread_id, { tool_results });
        const { messages } = await settled(threads, thread_id);
        const fork = await threads.fork(thread_id, { message_sequence_num: messages.length - 1 });
        await threads.send(fork.thread_id, { message: 'And?' });
        await settled(threads, fork.thread_id);
        const log = await readers.logOf(`${fork.thread_id}/turn_1`);
        expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'I have read on.' });
        expect(ofType(log, 'tool_result')).toMatchObject([{ tool_id: READ, status: 'success' }]);
      } finally {
        await readers.end();
      }
    });

    it('and is not offered where nothing can be called', async () => {
      const provider = scripted({ turns: [{ text: 'Hello.' }] });
      const readers = await worldWith(provider, { tools: [big], policy: { allow: [] } });
      try {
        await readers.run('test.reader', 'Read.');
        expect(provider.calls[0]?.tools).toEqual([]);
      } finally {
        await readers.end();
      }
    });
  });

  it('an output of another run is not there, whoever has its id', async () => {
    const big = call('outputs.big', { bytes: 200 * 1024, ran: join(folder, 'ran-other') });
    const [stored] = ofType(
      await world.run('test.agent', script([{ tool_calls: [big] }, { text: 'ok' }])),
      'tool_result',
    );
    const args = { output_id: stored!.output_ref!.id, offset: 0 };
    const tool = 'runtime.outputs.read_output';
    const log = await world.run('test.agent', script([{ tool_calls: [{ tool, args }] }, { text: 'ok' }]));
    expect(ofType(log, 'tool_result')).toMatchObject([{ status: 'error', failure: { kind: 'invalid_call' } }]);
  });

  it('a reference to the store in a caller’s input is refused, before anything is written', async () => {
    const url = `artefact:art_${'0'.repeat(64)}`;
    const input = [{ type: 'image_url' as const, image_url: { url } }];
    await expect(world.client.runs.start({ agent_id: 'test.agent', input })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('refers to the artefact store'),
    });
    // One that was started without our client finds nothing of others.
    const other = await world.artefacts.of('somebody-else').put('their secret', 'image/png');
    const run_id = `bare-${randomUUID()}`;
    const request = {
      agent_id: 'test.agent',
      input: [{ type: 'image_url', image_url: { url: `artefact:${other.id}` } }],
    };
    await world.temporal.workflow.start('agentRun', {
      workflowId: run_id,
      taskQueue: world.server.taskQueue,
      args: [request],
    });
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({
      status: 'failed',
      failure: { code: 'unknown_artefact' },
    });
  });

  it('an output that nobody stored is an invalid call', async () => {
    const args = { output_id: '../../etc/passwd', offset: 0 };
    const log = await world.run(
      'test.agent',
      script([{ tool_calls: [{ tool: 'runtime.outputs.read_output', args }] }, { text: 'ok' }]),
    );
    expect(ofType(log, 'tool_result')).toMatchObject([{ status: 'error', failure: { kind: 'invalid_call' } }]);
  });

  it('a media part above the inline limit becomes a reference at the edge, and data again for the model', async () => {
    const provider = scripted({ turns: [{ text: 'A picture.' }] });
    const seeing = await createWorld({
      models: { only: { provider, model: 'scripted-1' } },
      agents: [defineAgent({ agent_id: 'test.seeing', instructions: 'Look.' })],
    });
    try {
      const data = Buffer.alloc(300 * 1024, 7).toString('base64');
      const url = `data:image/png;base64,${data}`;
      const pdf = Buffer.alloc(100 * 1024, 9).toString('base64');
      const { run_id } = await seeing.client.runs.start({
        agent_id: 'test.seeing',
        input: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url } },
          { type: 'document', source: { data: pdf, media_type: 'application/pdf' } },
        ],
      });
      const log = await seeing.logOf(run_id);
      expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'A picture.' });
      const [started] = ofType(log, 'run_started');
      expect(started?.input).toMatchObject([
        { type: 'text' },
        { image_url: { url: expect.stringMatching(/^artefact:art_/) } },
        { source: { data: expect.stringMatching(/^artefact:art_/) } },
      ]);
      expect(JSON.stringify(log).length).toBeLessThan(20_000);
      expect(provider.calls[0]?.messages[1]?.content).toEqual([
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url } },
        { type: 'document', source: { data: pdf, media_type: 'application/pdf' } },
      ]);
    } finally {
      await seeing.end();
    }
  });
});
