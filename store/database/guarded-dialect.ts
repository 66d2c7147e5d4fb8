/** A dialect of Kysely whose every connection and statement goes through a guard, for errors that help. */
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult, TransactionSettings } from 'kysely';
import { storable } from './storable-text.js';

export type Guard = <T>(work: () => Promise<T>) => Promise<T>;

export function guardedDialect(dialect: Dialect, guard: Guard): Dialect {
  return {
    createDriver: () => new GuardedDriver(dialect.createDriver(), guard),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
  };
}

class GuardedDriver implements Driver {
  private readonly driver: Driver;
  private readonly guard: Guard;

  constructor(driver: Driver, guard: Guard) {
    this.driver = driver;
    this.guard = guard;
  }

  init(): Promise<void> {
    return this.guard(() => this.driver.init());
  }
  async acquireConnection(): Promise<GuardedConnection> {
    return new GuardedConnection(await this.guard(() => this.driver.acquireConnection()), this.guard);
  }
  beginTransaction(connection: GuardedConnection, settings: TransactionSettings): Promise<void> {
    return this.guard(() => this.driver.beginTransaction(connection.inner, settings));
  }
  commitTransaction(connection: GuardedConnection): Promise<void> {
    return this.guard(() => this.driver.commitTransaction(connection.inner));
  }
  rollbackTransaction(connection: GuardedConnection): Promise<void> {
    return this.guard(() => this.driver.rollbackTransaction(connection.inner));
  }
  releaseConnection(connection: GuardedConnection): Promise<void> {
    return this.driver.releaseConnection(connection.inner);
  }
  destroy(): Promise<void> {
    return this.driver.destroy();
  }
}

class GuardedConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection;
  private readonly guard: Guard;

  constructor(inner: DatabaseConnection, guard: Guard) {
    this.inner = inner;
    this.guard = guard;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const parameters = query.parameters.map(storable);
    return this.guard(() => this.inner.executeQuery<R>({ ...query, parameters }));
  }
  streamQuery<R>(query: CompiledQuery, chunkSize?: number): AsyncIterableIterator<QueryResult<R>> {
    return this.inner.streamQuery<R>(query, chunkSize);
  }
}
