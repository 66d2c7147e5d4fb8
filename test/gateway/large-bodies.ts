/** Bodies of some megabytes, each of a kind that has cost a service dearly somewhere. They are made when they are sent. */
const MIB = 1024 * 1024;

export const LARGE_BODIES: readonly (() => string)[] = [
  // One text, below and above what a body may have.
  () => JSON.stringify({ agent_id: 'test.bare', input: 'x'.repeat(3 * MIB), name: 'x', message: 'x'.repeat(3 * MIB) }),
  () => JSON.stringify({ agent_id: 'test.bare', input: 'x'.repeat(11 * MIB) }),
  // A sentence of the checker for each of them.
  () => `{"agent_id":"test.bare","input":[${'1,'.repeat(MIB)}1],"messages":[${'1,'.repeat(MIB)}1]}`,
  () => `{"messages":[${'"x",'.repeat(90_000)}"x"],"tool_results":[]}`,
  () => `{${Array.from({ length: 200_000 }, (_, n) => `"k${n}":1`).join()}}`,
  () =>
    `{"variables":[${'{"name":"a"},'.repeat(20_000)}{"name":"a"}],"name":"x","request_template":{"messages":["{{a}}"]}}`,
  // Nothing but depth, or nothing at all.
  () => '['.repeat(2 * MIB),
  () => `${' '.repeat(9 * MIB)}{}`,
  // A little that stands for a lot.
  () =>
    JSON.stringify({
      name: 'bomb',
      request_template: { agent_id: 'test.bare', messages: [{ content: [{ text: '{{a}}'.repeat(150_000) }] }] },
      variables: [{ name: 'a', default: 'x'.repeat(250_000) }],
    }),
  () => JSON.stringify({ values: { a: 'x'.repeat(9 * MIB) } }),
  () => JSON.stringify({ payloads: Array.from({ length: 50 }, () => ({ data: 'QUJD'.repeat(40_000) })) }),
];
