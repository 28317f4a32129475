/** What lists of all kinds of stored objects share. */

/** Lists of stored objects have pages of at most so many bytes, or of one object: reading one holds up little else. */
export const pageBytesMax = 4 * 1024 * 1024

/** Takes memory for bytes that are about to be used. Throws `overloaded` when there is none. */
export type HoldBytes = (bytes: number) => void
