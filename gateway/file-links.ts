/**
 * Addresses of a run's artefacts that a browser can open, since it sends no credential: whoever has one may read that
 * artefact, and no other, until the address expires.
 *
 * F1  The signature is over all that the address says: run, artefact, org, and when it ends. Nothing is looked up for
 *     an address whose signature is wrong.
 * F2  All gateways that have the same key make and take the same addresses.
 * F3  An address is the same for all who ask within a stretch of time, so that two readers of a log see the same lines.
 *     It lives for one stretch at least, and for two at most.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface FileLink {
  run: string;
  artefact: string;
  /** Whose run it is; '' where it is nobody's. */
  org: string;
  /** Epoch seconds. */
  expires: number;
  signature: string;
}

export interface FileLinks {
  urlOf(run: string, artefact: string, org: string): string;
  /** Why it opens nothing; undefined where it is good. */
  problemOf(link: FileLink): string | undefined;
}

export interface FileLinksOptions {
  secret: Uint8Array;
  /** Where browsers reach the gateway, like `https://agents.example`; addresses are relative to its root if absent. */
  publicUrl?: string;
  /** Seconds. */
  stretch?: number;
  now?: () => number;
}

export const FILE_STRETCH_SECONDS = 3_600;

export function createFileLinks(options: FileLinksOptions): FileLinks {
  const { secret, publicUrl = '', stretch = FILE_STRETCH_SECONDS, now = Date.now } = options;
  const base = publicUrl.replace(/\/+$/, '');

  function sign({ run, artefact, org, expires }: Omit<FileLink, 'signature'>): Buffer {
    // The words in front: the same key may sign other things one day.
    return createHmac('sha256', secret)
      .update(JSON.stringify(['perdure file', run, artefact, org, expires]))
      .digest();
  }

  return {
    urlOf(run, artefact, org) {
      const expires = (Math.floor(now() / 1_000 / stretch) + 2) * stretch;
      const signature = sign({ run, artefact, org, expires }).toString('base64url');
      const query = new URLSearchParams({ ...(org === '' ? {} : { org }), expires: String(expires), signature });
      return `${base}/v1/files/${encodeURIComponent(run)}/${encodeURIComponent(artefact)}?${query.toString()}`;
    },
    problemOf(link) {
      const given = Buffer.from(link.signature, 'base64url');
      const expected = sign(link);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'it was changed or cut';
      return link.expires * 1_000 <= now() ? 'its time is over' : undefined;
    },
  };
}
