/**
 * The connections of a process to Redis: one for commands, one that listens. They may break at any time and come back by
 * themselves.
 *
 * L1  No error of the driver leaves this file but as the rejection of a command. What lasts is reported, once, and once
 *     more when it is over.
 * L2  Nothing waits for a connection: while there is none, a command fails at once.
 * L3  A server that is there and says nothing is noticed: one that gives no answer for a while is left and called again.
 */
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { ConnectionOptions } from 'node:tls';
import { loadDriver } from './load-driver.js';
import { parseRedisUrl } from './parse-url.js';
import { SCRIPTS } from './scripts.js';
import type { ScriptCommands } from './scripts.js';

export type Commands = (Redis | Cluster) & ScriptCommands;

export interface RedisLink {
  readonly commands: Commands;
  /** Both connections are there. */
  isUp(): boolean;
  /** It is there, for the first time or again: nothing is subscribed to. */
  onUp(listener: () => void): void;
  onAway(listener: () => void): void;
  listen(channel: string): Promise<void>;
  /** Does not wait, and does not fail. */
  leave(channel: string): void;
  onMessage(listener: (channel: string, message: string) => void): void;
  /** Redis has refused a command: told once. */
  refused(error: unknown): void;
  close(): Promise<void>;
}

export interface LinkOptions {
  url: string;
  tls?: ConnectionOptions;
  report: (line: string) => void;
  /** Added to the news that it is back. */
  lost?: () => string;
}

const PING_MS = 1_000;
const SILENCE_MS = 2_000;
const CONNECT_MS = 2_000;
/** A connection that is back by then is not worth a line. */
const AWAY_TOLD_AFTER_MS = 1_000;
const FIRST_RETRY_MS = 50;
const SLOWEST_RETRY_MS = 1_000;

const retry = (times: number) =>
  Math.min(SLOWEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(times, 10)) * (0.75 + Math.random() / 2);

export function openLink({ url, tls, report, lost = () => '' }: LinkOptions): RedisLink {
  const target = parseRedisUrl(url);
  const driver = loadDriver();
  const { cluster, shown, ...address } = target;
  const secured = address.tls === undefined ? {} : { tls: { ...address.tls, ...tls } };
  const options = {
    ...address,
    ...secured,
    connectionName: 'perdure',
    connectTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    retryStrategy: retry,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    scripts: SCRIPTS,
  } satisfies RedisOptions;
  const { host, port, ...ofEach } = options;
  const commands = (
    cluster
      ? new driver.Cluster([{ host, port }], {
          redisOptions: ofEach,
          scripts: SCRIPTS,
          shardedSubscribers: true,
          enableOfflineQueue: false,
          clusterRetryStrategy: retry,
          // The name, and not the address that it stands for, is in the certificate.
          dnsLookup: (name, callback) => callback(null, name),
        })
      : new driver.Redis(options)
  ) as Commands;
  // The nodes of a cluster are listened to by connections that its driver keeps.
  const listening = cluster ? commands : new driver.Redis(options);
  const connections = new Set<Redis | Cluster>([commands, listening]);

  const up: (() => void)[] = [];
  const away: (() => void)[] = [];
  const refusals = new Set<string>();
  let isUp = false;
  let closed = false;
  let since = Date.now();
  let why = 'no answer yet';
  let isTold = false;
  let timer: NodeJS.Timeout | undefined = setTimeout(tellAway, AWAY_TOLD_AFTER_MS);

  for (const connection of connections) {
    connection.on('error', (error: Error) => (why = error.message));
    connection.on('ready', look);
    connection.on('close', look);
  }
  const ping = setInterval(() => {
    for (const connection of connections) if (connection.status === 'ready') void connection.ping().catch(() => {});
  }, PING_MS);

  function look(): void {
    const now = [...connections].every(({ status }) => status === 'ready');
    if (closed || now === isUp) return;
    isUp = now;
    if (now) cameBack();
    else {
      since = Date.now();
      timer ??= setTimeout(tellAway, AWAY_TOLD_AFTER_MS);
      for (const listener of away) listener();
    }
  }

  function cameBack(): void {
    clearTimeout(timer);
    timer = undefined;
    if (isTold)
      report(`live channel: Redis at ${shown} is back after ${Math.round((Date.now() - since) / 100) / 10} s${lost()}`);
    isTold = false;
    refusals.clear();
    for (const listener of up) listener();
  }

  function tellAway(): void {
    isTold = true;
    report(
      `live channel: Redis at ${shown} is away (${why}). Readers poll, and cancels come with heartbeats, until it is back.`,
    );
  }

  return {
    commands,
    isUp: () => isUp,
    onUp(listener) {
      up.push(listener);
      if (isUp) listener();
    },
    onAway: (listener) => void away.push(listener),
    async listen(channel) {
      await listening.ssubscribe(channel);
    },
    leave: (channel) => void listening.sunsubscribe(channel).catch(() => {}),
    onMessage: (listener) => void listening.on('smessage', listener),
    refused(error) {
      const message = error instanceof Error ? error.message : String(error);
      // A connection that broke is told as such.
      if (!isUp || !/^[A-Z]+ /.test(message) || refusals.has(message)) return;
      refusals.add(message);
      report(`live channel: Redis at ${shown} refuses what we ask (${message}). docs/live.md says what it must allow.`);
    },
    close() {
      closed = true;
      isUp = false;
      clearTimeout(timer);
      clearInterval(ping);
      for (const connection of connections) connection.disconnect();
      return Promise.resolve();
    },
  };
}
