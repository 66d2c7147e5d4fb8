/** The door of this room: toolsets that ship. */
export {};
