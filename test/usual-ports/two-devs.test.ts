/** Two applications of one person, each with its own `perdure dev`, without a word about ports. */
import { mkdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { finished, perdure, testFolder } from '../cli/command.js';
import { keepHistories } from '../support/kept-histories.js';

it('the second takes the next ports and says so, and commands in each folder find their own', async () => {
  const folder = testFolder();
  const [one, two] = ['one', 'two'].map((name) => `${folder}/${name}`) as [string, string];
  for (const cwd of [one, two]) mkdirSync(cwd);
  const first = perdure(['dev'], { cwd: one });
  await first.printed('Try, in another terminal');
  const second = perdure(['dev'], { cwd: two });
  await second.printed('Try, in another terminal');
  try {
    expect(first.stdout()).toMatch(/UI +http:\/\/127\.0\.0\.1:8233\n +HTTP +http:\/\/127\.0\.0\.1:2700,/);
    expect(second.stderr()).toMatch(new RegExp(`port 7233 is taken by .* dev in ${one}: using 7234\n`));
    expect(second.stderr()).toContain('port 8233 is taken: using 8234\nport 2700 is taken: using 2701\n');
    expect(second.stdout()).toContain('server       127.0.0.1:7234, namespace default');

    for (const [cwd, runId] of [
      [one, 'of-one'],
      [two, 'of-two'],
    ] as const)
      expect(await finished(perdure(['run', 'demo.assistant', 'hello', '--run-id', runId], { cwd }))).toMatchObject({
        code: 0,
        stderr: '',
      });
    expect(await finished(perdure(['inspect', 'of-two'], { cwd: two }))).toMatchObject({ code: 0 });
    const other = await finished(perdure(['inspect', 'of-two'], { cwd: one }));
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no run "of-two"') });
    for (const [cwd, port] of [
      [one, 7233],
      [two, 7234],
    ] as const)
      await keepHistories(`127.0.0.1:${port}`, `${cwd}/.perdure/payloads`);
  } finally {
    for (const dev of [first, second]) dev.signal('SIGTERM');
    await Promise.all([first.exited, second.exited]);
  }
});
