/**
 * Live events that are committed later under the same `live_id`: which of them this reader has been shown. Ids that
 * count (`call_1_1.progress_3`) are kept as ranges, so that a tool that reports a thousand times makes one entry.
 */
export interface Twin {
  readonly stem: string;
  readonly from: number;
  readonly to: number;
  /** The call that it belongs to: its result ends the need to remember. */
  readonly call: string;
}

export type Twins = readonly Twin[];

export function addTwin(twins: Twins, liveId: string, call: string): Twins {
  if (hasTwin(twins, liveId)) return twins;
  const { stem, n } = split(liveId);
  const before = twins.find((twin) => twin.stem === stem && twin.to + 1 === n);
  if (before === undefined) return [...twins, { stem, from: n, to: n, call }];
  return twins.map((twin) => (twin === before ? { ...twin, to: n } : twin));
}

export function hasTwin(twins: Twins, liveId: string): boolean {
  const { stem, n } = split(liveId);
  return twins.some((twin) => twin.stem === stem && twin.from <= n && n <= twin.to);
}

export function forgetCall(twins: Twins, call: string): Twins {
  return twins.some((twin) => twin.call === call) ? twins.filter((twin) => twin.call !== call) : twins;
}

/** A number with a leading zero is no count: `a_01` and `a_1` are two ids. */
function split(liveId: string): { stem: string; n: number } {
  const match = /^(.*_)([1-9]\d{0,8})$/s.exec(liveId);
  return match === null ? { stem: liveId, n: 0 } : { stem: match[1] ?? '', n: Number(match[2]) };
}
