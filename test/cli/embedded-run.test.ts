/** `perdure run` where no server is: it brings one, and leaves nothing behind. */
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { somethingListens } from '../../cli/connect.js';
import { app, finished, perdure, script, testFolder, withoutServer } from './command.js';

const leftovers = () => readdirSync(tmpdir()).filter((name) => name.startsWith('perdure-run-'));

describe('perdure run without a server', () => {
  it('answers with the built-in demo, stops its server and removes its folder', async () => {
    const folder = withoutServer(testFolder());
    const before = leftovers();
    const { code, stdout, stderr } = await finished(perdure(['run', 'demo.assistant', 'Hello there'], { cwd: folder }));

    expect(code).toBe(0);
    expect(stdout).toContain('scripted model');
    expect(stdout).toContain('{"words":2,"characters":11}');
    expect(stderr).toContain(`no perdure.config.ts in ${folder}: using the built-in demo`);
    const address = /starting a Temporal server on (\S+), in memory/.exec(stderr)?.[1] ?? '';
    expect(await somethingListens(address)).toBe(false);
    expect(leftovers()).toEqual(before);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('keeps the run where --data-dir says', async () => {
    const folder = testFolder();
    withoutServer(app, folder);
    const { code } = await finished(perdure(['run', 'test.script', script({ text: 'Kept.' }), '--data-dir', folder]));
    expect(code).toBe(0);
    expect(readdirSync(folder)).toContain('temporal.db');
  });

  it('cancels at the first Ctrl-C and stops its server', async () => {
    withoutServer(app);
    const command = perdure(['run', 'test.script', script({ text: 'I begin', hang: true }), '--json']);
    await command.printed('text_chunk');
    command.signal('SIGINT');
    const { code, stderr } = await finished(command);
    expect(code).toBe(3);
    expect(await somethingListens(/server on (\S+),/.exec(stderr)?.[1] ?? '')).toBe(false);
  });

  it('names its agents when it has no such one, before it starts anything', async () => {
    const { code, stderr } = await finished(perdure(['run', 'demo.nobody', 'x'], { cwd: withoutServer(testFolder()) }));
    expect(code).toBe(2);
    expect(stderr).toContain('there is no agent "demo.nobody" in the built-in demo; there are: demo.assistant');
    expect(stderr).not.toContain('starting');
  });
});
