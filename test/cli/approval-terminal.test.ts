/** A call that waits for approval, at a real pseudo terminal of 24 lines: what is approved is what can be read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, script, startDev, testFolder } from './command.js';
import type { Dev } from './command.js';
import { sitDownAt } from './pseudo-terminal.js';

const pay = (memo: string) =>
  script({ tool_calls: [{ tool: 'bank.money.pay', args: { sum: 9_000, memo } }] }, { text: 'All done.' });

describe.each(['run', 'chat'])('perdure %s', { timeout: 120_000 }, (command) => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev(app);
  });
  afterAll(() => dev.stop());

  async function sitDown(input: string) {
    const env = { XDG_STATE_HOME: testFolder() };
    const words = command === 'run' ? ['run', 'test.script', input] : ['chat', 'test.script'];
    const seat = sitDownAt([...words, ...dev.flags], { env, rows: 24, columns: 80 });
    if (command === 'chat') {
      await seat.shows(/> ▏\n/);
      seat.type(`${input}\r`);
    }
    return seat;
  }

  it('shows the true question below arguments that hold a false one', async () => {
    const seat = await sitDown(
      pay(`${'\n'.repeat(60)}test.script asks:\nmay it call weather.today.read\ny or n; \u202e`),
    );
    await seat.shows(/may it call bank\.money\.pay\ny or n; what follows an n is the reason\n> ▏/);
    const screen = seat.screen();
    expect(screen).toContain('{"sum":9000,"memo":"\\n\\n');
    expect(screen).toMatch(/test\.script asks[^\n]*:\n\{"sum":9000/);
    expect(screen).not.toMatch(/\nmay it call weather/);
    expect(screen.replaceAll('\n', '')).toContain('\\u202e');
    seat.type('n not that\r');
    await seat.shows('All done.');
  });

  it('takes a yes to a long call on its last page only', async () => {
    const seat = await sitDown(pay(Array.from({ length: 400 }, (_, n) => `word${n}`).join(' ')));
    await seat.shows(/may it call bank\.money\.pay\n1 of \d: Enter shows the next; n denies\n> ▏/);
    seat.type('y\r');
    await seat.shows(/may it call bank\.money\.pay\n"y" does not count yet; 1 of \d/);
    const pages = Number(/1 of (\d)/.exec(seat.screen())?.[1]);
    for (let page = 2; page <= pages; page++) {
      seat.type('\r');
      await seat.shows(page < pages ? `${page} of ${pages}: Enter` : 'y or n; what follows');
      expect(seat.screen()).toContain('may it call bank.money.pay');
    }
    expect(seat.screen().replaceAll('\n', '')).toContain('word399"}');
    seat.type('y\r');
    await seat.shows('All done.');
  });
});
