/**
 * What Kysely's own driver for SQLite lacks where several processes write:
 *
 * - A transaction is a write from its first statement on: two that read first and write then could both fail.
 * - Waiting for another writer holds up neither the event loop nor this process's readers. libsql is synchronous, so it
 *   must not wait itself; and whoever waits lets others have the connection meanwhile.
 * - A statement that met a lock stays open in libsql, and as long as it does, nothing of its connection can be
 *   committed. So every write begins by asking for the lock, which leaves nothing open. A read that met a lock, as it
 *   can while a file is recovered, is tried again as it is; where it is given up, the connection is replaced.
 */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import type libsql from 'libsql';
import { storable } from './storable-text.js';

const LONGEST_PAUSE_MS = 20;

interface SqliteDriverOptions {
  open(): libsql.Database;
  patienceMs: number;
  /** What to throw when the patience is over. */
  locked(cause: unknown): Error;
}

export function createSqliteDriver({ open, patienceMs, locked }: SqliteDriverOptions): Driver {
  let file: libsql.Database | undefined;
  let last = Promise.resolve();
  let endTurn = () => {};

  async function takeTurn(): Promise<void> {
    const before = last;
    let end = () => {};
    last = new Promise((resolve) => (end = resolve));
    await before;
    endTurn = end;
  }

  /** Until there is no lock in the way; with `pause` between two attempts. */
  async function patiently<T>(work: () => T, pause: () => Promise<void>): Promise<T> {
    for (const deadline = Date.now() + patienceMs; ;) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (Date.now() > deadline) throw locked(error);
        await pause();
      }
    }
  }

  async function letOthers(): Promise<void> {
    endTurn();
    await shortPause();
    await takeTurn();
  }

  function current(): libsql.Database {
    file ??= open();
    return file;
  }

  const begin = () => patiently(() => void current().exec('begin immediate'), letOthers);
  const commit = () => void current().exec('commit');
  const rollback = () => {
    // A disk that is full, for one, has ended it already.
    if (current().inTransaction) current().exec('rollback');
  };

  async function run<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const values = parameters.map(storable);
    const statement = await patiently(() => current().prepare(sql), shortPause);
    try {
      return await patiently(() => {
        if (statement.reader) return { rows: statement.all(values) as R[] };
        return { rows: [], numAffectedRows: BigInt(statement.run(values).changes) };
      }, shortPause);
    } catch (error) {
      if (isBusy((error as Error).cause)) {
        file?.close();
        file = undefined;
      }
      throw error;
    }
  }

  async function runAlone<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    await begin();
    try {
      const result = await run<R>(query);
      commit();
      return result;
    } catch (error) {
      rollback();
      throw error;
    }
  }

  const connection: DatabaseConnection = {
    executeQuery: (query) => (current().inTransaction || isRead(query) ? run(query) : runAlone(query)),
    streamQuery() {
      throw new Error('nothing is streamed from SQLite');
    },
  };
  return {
    init: () => patiently(() => void current(), shortPause),
    async acquireConnection() {
      await takeTurn();
      return connection;
    },
    beginTransaction: begin,
    commitTransaction: async () => commit(),
    rollbackTransaction: async () => rollback(),
    releaseConnection: async () => endTurn(),
    destroy: async () => void file?.close(),
  };
}

function isRead({ sql }: CompiledQuery): boolean {
  return /^\s*(select|pragma)\b/i.test(sql);
}

function isBusy(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'SQLITE_BUSY' || code === 'SQLITE_BUSY_RECOVERY';
}

/** Not of the same length for all who wait. */
function shortPause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LONGEST_PAUSE_MS * Math.random()));
}
