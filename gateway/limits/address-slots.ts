/** How many connections one address has open at the same time: who has no credential yet is known by nothing else. */
import { isIPv6 } from 'node:net';

export interface AddressSlots {
  /** Undefined where the address has all it may have; else the slot is free again when the function is called. */
  take(address: string): (() => void) | undefined;
}

export function createAddressSlots(limit: number): AddressSlots {
  const open = new Map<string, number>();
  return {
    take(address) {
      const key = networkOf(address);
      const count = open.get(key) ?? 0;
      if (count >= limit) return undefined;
      open.set(key, count + 1);
      return () => {
        const left = (open.get(key) ?? 1) - 1;
        if (left === 0) open.delete(key);
        else open.set(key, left);
      };
    },
  };
}

/** Whoever has one address of IPv6 has all that begin with the same 64 bits. */
function networkOf(address: string): string {
  const [bare = ''] = address.split('%');
  if (!isIPv6(bare)) return bare;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [front = '', back] = bare.split('::');
  const groups = front === '' ? [] : front.split(':');
  const behind = back === undefined || back === '' ? [] : back.split(':');
  const missing = back === undefined ? 0 : 8 - groups.length - behind.length;
  const whole = [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...behind];
  return whole
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
