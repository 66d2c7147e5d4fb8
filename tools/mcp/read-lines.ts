/** Lines out of pieces, however they are cut. One that is longer than the limit is an error, and ends the reading. */
export function createLineReader(most: number, onLine: (line: string) => void): (piece: Buffer) => void {
  let open: Buffer[] = [];
  let bytes = 0;
  return (piece) => {
    if (bytes > most) return;
    let from = 0;
    for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, from)) {
      open.push(piece.subarray(from, at));
      const line = Buffer.concat(open).toString('utf8');
      [open, bytes, from] = [[], 0, at + 1];
      onLine(line.replace(/\r$/, ''));
    }
    open.push(piece.subarray(from));
    bytes += piece.length - from;
    if (bytes <= most) return;
    open = [];
    throw new Error(`it sent a line of more than ${most} bytes`);
  };
}
