/** EventType of proto/filesystem.proto: what happened to a name in a watched directory. */
export const EventType = { CREATE: 1, WRITE: 2, REMOVE: 3, RENAME: 4, CHMOD: 5 } as const;
export type EventType = typeof EventType[keyof typeof EventType];
