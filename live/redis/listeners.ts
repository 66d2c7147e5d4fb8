/**
 * The listening side of the Redis channel: one connection for all runs that are listened to in this process.
 *
 * H1  Who begins to listen is given what the stream of the run has, then what came meanwhile, each once, then what comes.
 * H2  After a break, each is given what the stream has beyond what it heard last.
 * H3  What the stream of a run says before that is folded: the committed events, and the text so far of open blocks.
 */
import type { LiveEvent } from '../../contract/live-events.js';
import type { ChannelListener, CommittedEvent, Origin } from '../channel.js';
import { createOpenBlocks } from '../open-blocks.js';
import type { RedisLink } from './link.js';
import { readMessage } from './messages.js';
import type { Message } from './messages.js';
import type { RedisNames } from './names.js';

export interface RedisListeners {
  add(runId: string, listener: ChannelListener): () => void;
}

interface Entry {
  id: string;
  message: Message;
}

interface Ear {
  listener: ChannelListener;
  /** What came while the stream is being read; undefined when that is done. */
  meanwhile: Entry[] | undefined;
  lastId: string | undefined;
}

interface Watch {
  ears: Set<Ear>;
  isOn: boolean;
}

export function createRedisListeners(link: RedisLink, names: RedisNames): RedisListeners {
  const watches = new Map<string, Watch>();
  const runOf = new Map<string, string>();
  let joined: string[] = [];

  link.onUp(() => {
    for (const runId of watches.keys()) void turnOn(runId);
  });
  link.onAway(() => {
    for (const watch of watches.values()) {
      watch.isOn = false;
      for (const { listener } of watch.ears) listener.away?.();
    }
  });
  link.onMessage((channel, text) => {
    const watch = watches.get(runOf.get(channel) ?? '');
    const entry = watch === undefined ? undefined : parse(text);
    if (watch === undefined || entry === undefined) return;
    for (const ear of watch.ears) {
      if (ear.meanwhile !== undefined) ear.meanwhile.push(entry);
      else hear(ear, entry);
    }
  });

  async function turnOn(runId: string): Promise<void> {
    const watch = watches.get(runId);
    if (watch === undefined || !link.isUp()) return;
    for (const ear of watch.ears) ear.meanwhile ??= [];
    try {
      await link.listen(names.channel(runId));
    } catch (error) {
      link.refused(error);
      return;
    }
    // Everybody has left meanwhile.
    if (watches.get(runId) !== watch) return;
    watch.isOn = true;
    sayJoined(runId);
    for (const ear of watch.ears) void catchUp(runId, ear);
  }

  /** All who join in one go are told of in one message. */
  function sayJoined(runId: string): void {
    joined.push(runId);
    if (joined.length > 1) return;
    queueMicrotask(() => {
      const text = JSON.stringify(joined);
      joined = [];
      link.commands.spublish(names.interest, text).catch(link.refused);
    });
  }

  async function catchUp(runId: string, ear: Ear): Promise<void> {
    ear.meanwhile ??= [];
    const from = ear.lastId === undefined ? '-' : `(${ear.lastId}`;
    let entries: Entry[] = [];
    try {
      const rows = await link.commands.xrange(names.stream(runId), from, '+');
      entries = rows.flatMap(([id, [, text = '']]) => toEntry(id, text) ?? []);
    } catch (error) {
      link.refused(error);
    }
    const { meanwhile } = ear;
    ear.meanwhile = undefined;
    // What is told of committed events may be more than what is kept.
    const told = new Map(meanwhile.map((entry) => [entry.id, entry]));
    entries = entries.map((entry) => (entry.message.kind === 'committed' ? (told.get(entry.id) ?? entry) : entry));
    if (ear.lastId === undefined) fold(ear, entries);
    else for (const entry of entries) hear(ear, entry);
    const known = entries.at(-1)?.id;
    for (const entry of meanwhile) if (known === undefined || isAfter(entry.id, known)) hear(ear, entry);
    ear.listener.caughtUp?.();
  }

  return {
    add(runId, listener) {
      const ear: Ear = { listener, meanwhile: [], lastId: undefined };
      const known = watches.get(runId);
      const watch = known ?? { ears: new Set(), isOn: false };
      watch.ears.add(ear);
      watches.set(runId, watch);
      runOf.set(names.channel(runId), runId);
      if (known === undefined) void turnOn(runId);
      else if (known.isOn) void catchUp(runId, ear);
      return () => {
        watch.ears.delete(ear);
        if (watch.ears.size > 0 || watches.get(runId) !== watch) return;
        watches.delete(runId);
        runOf.delete(names.channel(runId));
        if (link.isUp()) link.leave(names.channel(runId));
      };
    },
  };
}

function hear(ear: Ear, { id, message }: Entry): void {
  ear.lastId = id;
  if (message.kind === 'live') ear.listener.live(message.events, message.origin);
  else ear.listener.committed(message.events, message.origin);
}

/** H3, for each execution that the stream tells of: they follow one another. */
function fold(ear: Ear, entries: readonly Entry[]): void {
  let at: { origin: Origin; committed: CommittedEvent[]; blocks: ReturnType<typeof createOpenBlocks> } | undefined;
  const tell = () => {
    if (at === undefined) return;
    if (at.committed.length > 0) ear.listener.committed(at.committed, at.origin);
    const open: LiveEvent[] = at.blocks.replay();
    if (open.length > 0) ear.listener.live(open, { execution: at.origin.execution });
  };
  for (const { id, message } of entries) {
    ear.lastId = id;
    if (at?.origin.execution !== message.origin.execution) {
      tell();
      at = { origin: message.origin, committed: [], blocks: createOpenBlocks() };
    }
    if (message.kind === 'live') for (const event of message.events) at.blocks.add(event);
    else {
      at.origin = message.origin;
      at.committed.push(...message.events);
      for (const { event } of message.events) at.blocks.close(event);
    }
  }
  tell();
}

/** `<id> <message>`; an empty one only asks who listens. */
function parse(text: string): Entry | undefined {
  const space = text.indexOf(' ');
  return space === -1 ? undefined : toEntry(text.slice(0, space), text.slice(space + 1));
}

function toEntry(id: string, text: string): Entry | undefined {
  const message = readMessage(text);
  return message === undefined ? undefined : { id, message };
}

/** Ids are `<milliseconds>-<number>`. */
function isAfter(one: string, other: string): boolean {
  const [[time = 0, count = 0], [otherTime = 0, otherCount = 0]] = [one, other].map((id) =>
    id.split('-').map(Number),
  ) as [number[], number[]];
  return time === otherTime ? count > otherCount : time > otherTime;
}
