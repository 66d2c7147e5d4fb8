/** The lines of a body as they come. One that is not ended by a newline was cut, and is none. */
export async function* readLines(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<string, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      // Blank ones say only that the connection lives.
      for (const line of lines) if (line !== '') yield line;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
