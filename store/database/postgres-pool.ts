/**
 * Postgres, by its address. What of TLS, timeouts or the search path the address says, as in `?sslmode=verify-full`, is
 * taken over what is chosen here.
 */
import { PostgresDialect } from 'kysely';
import type { Dialect } from 'kysely';
import { PerdureError } from '../../contract/errors.js';
import { guardedDialect } from './guarded-dialect.js';
import type { Guard } from './guarded-dialect.js';
import { loadDriver } from './load-driver.js';

/**
 * A server lets 100 in by default. With ten for each process there is room for some processes, and all of a process's
 * requests are short: more at once would only queue in the server.
 */
const CONNECTIONS = 10;
const CONNECT_MS = 5_000;
const IDLE_MS = 30_000;
const LIFETIME_S = 3_600;
/** On top, for a server that does not even say that it took too long. */
const SILENCE_MS = 5_000;
const OPEN_TRANSACTION_MS = 30_000;
/** OID of bigint: times and counts, all of them far below what a number holds exactly. */
const BIGINT = 20;

export async function openPostgres(url: string, patienceMs: number): Promise<Dialect> {
  const place = postgresPlace(url);
  const { default: pg } = await loadDriver('pg', () => import('pg'));
  const getTypeParser = ((oid: number, format?: 'text') =>
    oid === BIGINT ? Number : (pg.types.getTypeParser(oid, format) as unknown)) as typeof pg.types.getTypeParser;
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: LIFETIME_S,
    statement_timeout: patienceMs,
    query_timeout: patienceMs + SILENCE_MS,
    idle_in_transaction_session_timeout: OPEN_TRANSACTION_MS,
    keepAlive: true,
    fallback_application_name: 'perdure',
    types: { getTypeParser },
  });
  // A connection that breaks tells the statement that waits for it. Without these, it would also end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => void client.on('error', () => {}));
  return guardedDialect(new PostgresDialect({ pool }), guardFor(place));
}

/** For messages: without the password. */
export function postgresPlace(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'postgres:' || parsed?.protocol === 'postgresql:') {
    return `Postgres database ${decodeURI(parsed.pathname.slice(1))} at ${parsed.host}`;
  }
  throw new PerdureError(
    'database_unusable',
    'PERDURE_DATABASE_URL is no address of a Postgres database: write it like postgresql://user:password@host:5432/name',
  );
}

/** By the server's codes, their first two characters, or those of the network. */
const UNREACHABLE = /^(08|57P|57014|53300|55P03|ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|ENOENT)/;
const REFUSED = /^(28|3D000|3F000|42501|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_|ERR_TLS)/;
/** The driver's own have no code. */
const DROPPED = /timeout exceeded|timeout expired|Connection terminated|Query read timeout|not queryable/;

function guardFor(place: string): Guard {
  return async (work) => {
    try {
      return await work();
    } catch (error) {
      const { code, message } = causeOf(error);
      const why = `the ${place} cannot be used: ${message || code}`;
      if (UNREACHABLE.test(code) || DROPPED.test(message)) {
        throw new PerdureError('database_unreachable', why, { cause: error });
      }
      if (REFUSED.test(code) || message === 'The server does not support SSL connections') {
        throw new PerdureError('database_unusable', why, { cause: error });
      }
      throw error;
    }
  };
}

/** A name with several addresses fails with an error for each of them. */
function causeOf(error: unknown): { code: string; message: string } {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const { code = '', message = '' } = (first ?? {}) as { code?: unknown; message?: unknown };
  return { code: String(code), message: String(message) };
}
