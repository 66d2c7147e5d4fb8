/** What Redis does in one step, so that a message and its place in the stream belong together. */

export const SCRIPTS = {
  /**
   * Keeps a message and tells it to whoever listens; where nobody does, it does neither. Gives how many heard it.
   * KEYS stream, channel. ARGV what is kept, what is told (empty: the same), entries kept, milliseconds kept.
   */
  perdureTell: {
    numberOfKeys: 2,
    lua: `
if redis.call('PUBSUB', 'SHARDNUMSUB', KEYS[2])[2] == 0 then return 0 end
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'm', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local told = ARGV[2]
if told == '' then told = ARGV[1] end
return redis.call('SPUBLISH', KEYS[2], id .. ' ' .. told)`,
  },
  /**
   * A worker's sign of life, by the clock of Redis. Gives that clock, the worker's sign before this one, and who has
   * been silent for so long, each with the last sign.
   * KEYS sorted set of workers, hash of the worker's calls. ARGV worker, milliseconds of silence, milliseconds kept.
   */
  perdureAlive: {
    numberOfKeys: 2,
    lua: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = redis.call('ZSCORE', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return { now, before, redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2], 'WITHSCORES') }`,
  },
} as const;

export interface ScriptCommands {
  perdureTell(
    stream: string,
    channel: string,
    kept: string,
    told: string,
    entries: number,
    milliseconds: number,
  ): Promise<number>;
  perdureAlive(
    alive: string,
    calls: string,
    worker: string,
    silence: number,
    milliseconds: number,
  ): Promise<[now: number, before: string | null, silent: string[]]>;
}
