/**
 * The archive of runs that are over: what is listed, filtered and counted (`runs`, `run_tools`), what is read of one
 * (`run_texts`, `run_events`), what is searched (`run_words`), and what was deleted and must not come back (`deletions`).
 *
 * The id of a run begins with the time at which it started (`archive/run-order.ts`), so that every index is in the order
 * of lists, the index of words included.
 *
 * Texts are apart from `runs`, so that counting reads no texts. Events are kept compressed, some hundred kilobytes of
 * them in a row: with a row for each event, a hundred thousand runs took five to seven times the space and were read
 * no faster.
 */
import type { Migration } from './migration.js';

export const archive: Migration = {
  number: 2,
  name: 'archive',
  statements: (dialect) => {
    const postgres = dialect === 'postgres';
    return [
      `create table runs (
        id ${postgres ? 'bigint' : 'integer'} primary key,
        run_id text not null unique,
        agent_id text not null,
        root_run_id text not null,
        parent_run_id text,
        thread_id text,
        org_id text,
        created_by text,
        status text not null,
        phase text not null,
        started_at bigint not null,
        ended_at bigint not null,
        steps integer not null,
        tool_calls integer not null,
        input_tokens bigint not null,
        output_tokens bigint not null,
        cost_usd double precision,
        model text,
        failure_code text,
        tail integer not null
      )`,
      'create index runs_by_org on runs (org_id, id)',
      'create index runs_by_user on runs (created_by, id)',
      'create index runs_by_agent on runs (agent_id, id)',
      'create index runs_by_thread on runs (thread_id, id)',
      'create index runs_by_root on runs (root_run_id)',
      'create index runs_by_end on runs (ended_at)',
      `create table run_texts (
        run bigint primary key references runs (id) on delete cascade,
        input text not null,
        answer text,
        metadata text
      )`,
      `create table run_events (
        run bigint not null references runs (id) on delete cascade,
        first_seq integer not null,
        events ${postgres ? 'bytea' : 'blob'} not null,
        primary key (run, first_seq)
      )`,
      `create table run_tools (
        run bigint not null references runs (id) on delete cascade,
        tool_id text not null,
        count integer not null,
        failures integer not null,
        primary key (run, tool_id)
      )`,
      'create index run_tools_by_tool on run_tools (tool_id, run)',
      `create table deletions (
        kind text not null,
        id text not null,
        deleted_at bigint not null,
        primary key (kind, id)
      )`,
      ...(postgres ? POSTGRES : SQLITE),
    ];
  },
};

/** Words are made by us, so that both databases find the same: see `archive/words-of.ts`. */
const POSTGRES = [
  `create table run_words (
    run bigint primary key references runs (id) on delete cascade,
    words tsvector not null
  )`,
  'create index run_words_by_word on run_words using gin (words)',
  // Compressed already.
  'alter table run_events alter column events set storage external',
];
const SQLITE = [
  `create virtual table run_words using fts5 (words, content='', contentless_delete=1, detail=none, tokenize='ascii')`,
  'create trigger run_words_end after delete on runs begin delete from run_words where rowid = old.id; end',
];
