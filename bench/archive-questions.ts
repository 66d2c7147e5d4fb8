/** What the archive is asked in `archive.ts`: through its functions, and in SQL as one would write it by hand. */
import type { Archive } from '../store/archive/archive.js';
import type { ArchiveFilter } from '../store/archive/list-runs.js';
import { madeUpRun, wordOf } from './made-up-runs.js';

const PAGE = 50;
/** Of the lists that a reader of the archive wants to see. */
const LISTED = 'select r.*, substr(t.input, 1, 200) as input_start from runs r join run_texts t on t.run = r.id where ';
const NEWEST = ` order by r.id desc limit ${PAGE}`;

interface Plain {
  text: string;
  parameters: unknown[];
}

export interface Question {
  about: string;
  /** The nth of its kind, over so many runs. */
  ours(kept: Archive, n: number, runs: number): Promise<readonly unknown[]>;
  theirs(dialect: 'sqlite' | 'postgres', n: number, runs: number): Plain;
}

function list(
  about: string,
  filter: (n: number, runs: number) => ArchiveFilter,
  where: (n: number, runs: number, dialect: 'sqlite' | 'postgres') => [string, ...unknown[]],
): Question {
  return {
    about,
    ours: async (kept, n, runs) => (await kept.listRuns(filter(n, runs), undefined, PAGE)).runs,
    theirs: (dialect, n, runs) => {
      const [text, ...parameters] = where(n, runs, dialect);
      return { text: LISTED + text + NEWEST, parameters };
    },
  };
}

function search(about: string, words: (n: number) => string[]): Question {
  return {
    about,
    ours: async (kept, n) => (await kept.listRuns({ text: words(n).join(' ') }, undefined, PAGE)).runs,
    theirs: (dialect, n) => {
      const begins = (before: string, after: string) => words(n).map((word) => before + word + after);
      const [from, parameter, order] =
        dialect === 'sqlite'
          ? ['w.rowid where run_words match ?', begins('"', '"*').join(' '), 'w.rowid']
          : ['w.run where w.words @@ ?::tsquery', begins("'", "':*").join(' & '), 'r.id'];
      const text = `select r.*, substr(t.input, 1, 200) as input_start from run_words w join runs r on r.id = ${from}`;
      const joined = text.replace(' where', ' join run_texts t on t.run = r.id where');
      return { text: `${joined} order by ${order} desc limit ${PAGE}`, parameters: [parameter] };
    },
  };
}

const at = (n: number, runs: number) => madeUpRun(Math.floor(((n + 1) * runs) / 40));

export const QUESTIONS: Question[] = [
  list(
    'newest of all',
    () => ({}),
    () => ['1 = 1'],
  ),
  list(
    'newest of an org',
    (n) => ({ org_id: `org_${n % 10}` }),
    (n) => ['r.org_id = ?', `org_${n % 10}`],
  ),
  {
    about: 'a page in the middle, in two calls',
    ours: async (kept, n, runs) => {
      const started_before = at(n, runs).run.started_at;
      const { next_cursor } = await kept.listRuns({ org_id: 'org_1', started_before }, undefined, 1);
      return (await kept.listRuns({ org_id: 'org_1' }, next_cursor, PAGE)).runs;
    },
    theirs: (_dialect, n, runs) => {
      const time = Date.parse(at(n, runs).run.started_at);
      const first = 'select id from runs where org_id = ? and started_at < ? order by id desc limit 1';
      return { text: `${LISTED}r.org_id = ? and r.id < (${first})${NEWEST}`, parameters: ['org_1', 'org_1', time] };
    },
  },
  list(
    'of an agent',
    (n) => ({ agent_id: `desk.agent_${n % 20}` }),
    (n) => ['r.agent_id = ?', `desk.agent_${n % 20}`],
  ),
  list(
    'of a user of an org',
    (n) => ({ org_id: `org_${n % 10}`, created_by: `user_${n % 50}` }),
    (n) => ['r.org_id = ? and r.created_by = ?', `org_${n % 10}`, `user_${n % 50}`],
  ),
  list(
    'of a thread',
    (n, runs) => ({ thread_id: `thr_${Math.floor(((n + 1) * runs) / 40 / 30)}` }),
    (n, runs) => ['r.thread_id = ?', `thr_${Math.floor(((n + 1) * runs) / 40 / 30)}`],
  ),
  list(
    'failed ones of an org (3 %)',
    (n) => ({ org_id: `org_${n % 10}`, status: 'failed' }),
    (n) => ['r.org_id = ? and r.status = ?', `org_${n % 10}`, 'failed'],
  ),
  list(
    'of an hour',
    (n, runs) => ({
      started_from: at(n, runs).run.started_at,
      started_before: later(at(n, runs).run.started_at, 3_600_000),
    }),
    (n, runs) => {
      const time = Date.parse(at(n, runs).run.started_at);
      return ['r.started_at >= ? and r.started_at < ?', time, time + 3_600_000];
    },
  ),
  list(
    'that used a common tool',
    () => ({ tool_id: 'web.search.search' }),
    () => ['exists (select 1 from run_tools u where u.run = r.id and u.tool_id = ?)', 'web.search.search'],
  ),
  list(
    'that used a rare tool (0.3 %)',
    () => ({ tool_id: 'shop.ledger.audit' }),
    () => ['r.id in (select run from run_tools where tool_id = ?)', 'shop.ledger.audit'],
  ),
  list(
    'that cost most (0.1 %)',
    () => ({ org_id: 'org_1', min_cost_usd: 0.0062 }),
    () => ['r.org_id = ? and r.cost_usd >= ?', 'org_1', 0.0062],
  ),
  search('with a common word', (n) => [wordOf(n % 5)]),
  search('with two words', (n) => [wordOf(20 + n), wordOf(60 + n)]),
  search('with a rare word', (n) => [wordOf(9_000 + n * 137)]),
  {
    about: 'usage of everything, by day',
    ours: (kept) => kept.usage({ from: '2026-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z', by: 'day' }),
    theirs: () => ({
      text: `select ended_at / 86400000 as day, ${SUMS} from runs where ended_at >= ? and ended_at < ? group by 1 order by 1`,
      parameters: [Date.UTC(2026, 0), Date.UTC(2027, 0)],
    }),
  },
  {
    about: 'usage of an org in a month, by user',
    ours: (kept) =>
      kept.usage({ from: '2026-02-01T00:00:00Z', to: '2026-03-01T00:00:00Z', by: 'user', org_id: 'org_1' }),
    theirs: () => ({
      text: `select created_by, ${SUMS} from runs where org_id = ? and ended_at >= ? and ended_at < ? group by 1 order by 1`,
      parameters: ['org_1', Date.UTC(2026, 1), Date.UTC(2026, 2)],
    }),
  },
  {
    about: 'one run',
    ours: async (kept, n, runs) => [await kept.getRun(at(n, runs).run.run_id)],
    theirs: (_dialect, n, runs) => ({
      text: 'select * from runs r join run_texts t on t.run = r.id where r.run_id = ?',
      parameters: [at(n, runs).run.run_id],
    }),
  },
];

const SUMS = 'count(*), sum(steps), sum(tool_calls), sum(input_tokens), sum(output_tokens), coalesce(sum(cost_usd), 0)';

function later(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}
