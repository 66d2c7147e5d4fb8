import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INLINE_LIMIT_BYTES } from '../../contract/sizes.js';
import { projectTranscript } from '../../contract/transcript.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

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
      const whole = await world.artefacts.read(result?.output_ref?.id ?? '');
      expect(whole.byteLength).toBe(bytes);
    });
  }

  it('the model reads on in a trimmed output, at the offset that the notice gives', async () => {
    const bytes = 200 * 1024;
    const first = script([{ tool_calls: [call('outputs.big', { bytes, ran: join(folder, 'ran') })] }, { text: 'ok' }]);
    const [trimmed] = ofType(await world.run('test.agent', first), 'tool_result');
    const notice = /read_output (\{[^}]*\})/.exec(String(trimmed?.content))?.[1] ?? '{}';
    const { output_id, offset } = JSON.parse(notice) as { output_id: string; offset: number };
    const next = { tool: 'runtime.outputs.read_output', args: { output_id, offset, length: 1000 } };
    const log = await world.run('test.agent', script([{ tool_calls: [next] }, { text: 'ok' }]));
    const [read] = ofType(log, 'tool_result');
    const whole = Buffer.from(await world.artefacts.read(output_id)).toString('utf8');
    expect(read?.content).toBe(
      `${whole.slice(offset, offset + 1000)}\n\n[${bytes - offset - 1000} bytes follow; read on at offset ${offset + 1000}]`,
    );
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
    const { scripted } = await import('../../providers/index.js');
    const { defineAgent } = await import('../../kit/index.js');
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
        { image_url: { url: expect.stringMatching(/^artefact:sha256_/) } },
        { source: { data: expect.stringMatching(/^artefact:sha256_/) } },
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
