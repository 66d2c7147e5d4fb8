/**
 * What the command itself writes. Everything else that is written in this process comes from the application, and may be
 * caught (`catch-prints.ts`): so the command goes past `process.stdout.write`, by the functions as they were at first.
 */

export interface Output {
  write(text: string, done?: () => void): boolean;
  readonly isTTY: boolean;
  readonly columns: number;
  readonly rows: number;
}

function outputOf(stream: NodeJS.WriteStream): Output {
  const write = stream.write.bind(stream);
  return {
    write: (text, done) => write(text, done),
    get isTTY() {
      return stream.isTTY;
    },
    get columns() {
      return stream.columns;
    },
    get rows() {
      return stream.rows;
    },
  };
}

export const stdout = outputOf(process.stdout);
export const stderr = outputOf(process.stderr);

/** Once all that was written is on its way. */
export async function written(): Promise<void> {
  await Promise.all([stdout, stderr].map((output) => new Promise<void>((resolve) => output.write('', resolve))));
}
