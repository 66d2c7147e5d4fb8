/**
 * What comes out of a sandbox: a kind, a length and so many bytes. Whoever writes it may be hostile, so that each
 * length is checked before it is waited for.
 */
import { z } from 'zod';
import { cleanFile } from '../file-names.js';
import type { NamedFile } from '../file-names.js';
import { mediaType } from './media-type.js';

const Count = z.number().int().nonnegative();

/** How a program ended. */
export const SandboxEnd = z.object({
  /** The limit that stopped it, or what could not be set up; null where it ended by itself. */
  why: z.enum(['wall', 'memory', 'inodes', 'file_count', 'file_bytes', 'setup']).nullable(),
  exit: z.number().int().nullish(),
  signal: z.number().int().nullish(),
  cpu: z.number().nonnegative().nullish(),
  /** Bytes, also those that were not kept. */
  printed: Count,
  /** What it left that is no file: links, sockets. */
  skipped: z.array(z.string().max(4096)).max(100),
  file_count: Count,
  file_bytes: Count,
  trouble: z.string().max(65_536),
});
export type SandboxEnd = z.infer<typeof SandboxEnd>;

export interface SandboxFile extends NamedFile {
  content: Uint8Array;
}

export interface FrameLimits {
  output_bytes: number;
  files: number;
  file_bytes: number;
}

export interface FrameHandlers {
  output(bytes: Buffer): void;
  file(file: SandboxFile): void;
  end(end: SandboxEnd): void;
}

const HEADER = 5;
const LONGEST_END = 1024 * 1024;
const LONGEST_NAME = 65_535;

/** Takes pieces as they come. Throws where what comes is no frame, or is more than the limits allow. */
export function createFrameReader(limits: FrameLimits, handlers: FrameHandlers): (piece: Buffer) => void {
  let pending: Buffer[] = [];
  let length = 0;
  let wanted = HEADER;
  let printed = 0;
  let files = 0;
  let fileBytes = 0;

  return (piece) => {
    pending.push(piece);
    length += piece.length;
    while (length >= wanted) {
      const bytes = Buffer.concat(pending);
      const size = bytes.readUInt32BE(1);
      const kind = String.fromCharCode(bytes[0] as number);
      wanted = HEADER + checked(kind, size);
      if (bytes.length < wanted) {
        pending = [bytes];
        return;
      }
      take(kind, bytes.subarray(HEADER, wanted));
      const rest = bytes.subarray(wanted);
      [pending, length, wanted] = [[rest], rest.length, HEADER];
    }
  };

  function checked(kind: string, size: number): number {
    const most =
      kind === 'O'
        ? limits.output_bytes - printed
        : kind === 'F'
          ? limits.file_bytes - fileBytes + LONGEST_NAME + 2
          : kind === 'E'
            ? LONGEST_END
            : -1;
    if (size > most) throw new Error(`the sandbox sent a frame "${kind}" of ${size} bytes, which it may not`);
    return size;
  }

  function take(kind: string, body: Buffer): void {
    if (kind === 'O') {
      printed += body.length;
      return handlers.output(body);
    }
    if (kind === 'E') return handlers.end(SandboxEnd.parse(JSON.parse(body.toString('utf8'))));
    const start = 2 + body.readUInt16BE(0);
    const content = body.subarray(start);
    files += 1;
    fileBytes += content.length;
    if (start > body.length || files > limits.files || fileBytes > limits.file_bytes)
      throw new Error('the sandbox sent more files than it may');
    const name = body.toString('utf8', 2, start);
    handlers.file({ ...cleanFile(name, mediaType(name)), content });
  }
}
