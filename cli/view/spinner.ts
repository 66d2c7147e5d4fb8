/** One character, turning. */
export const SPINNER_FRAME_MS = 80;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export function spinnerAt(milliseconds: number): string {
  return FRAMES[Math.floor(milliseconds / SPINNER_FRAME_MS) % FRAMES.length] ?? '';
}
