/** What is read, and what of it comes out. */

/** A file that is read in places. */
export interface FileBytes {
  readonly length: number
  /** At most so many bytes from there on. Valid until the next call. */
  read(offset: number, length: number): Uint8Array
}

/** A text of a file, or what of it cannot be read: `an encrypted PDF`. */
export type Reading = { readonly text: string } | { readonly unreadable: string }
