/** A temporary file without a name, for data too large for memory: freed when it is closed or the process ends. */
import { close, mkdirSync, open, readSync, unlinkSync, write } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { GatewayError } from '../../core/errors.ts'
import type { ReadableFile } from '../../core/transport.ts'
import { errorCode } from '../../lib/error-code.ts'

/** The error for clients where the disk or the process has no room for a spool; undefined = it is another error. */
export function noRoomForFile(cause: unknown): GatewayError | undefined {
  if (!['ENOSPC', 'EDQUOT', 'EMFILE'].includes(errorCode(cause))) return undefined
  return new GatewayError('overloaded', 'the gateway has no room for the file now; try again later', { cause })
}

const openFile = promisify(open)
const writeFile = promisify(write)

/**
 * It may contain several files one after another, each read by its offset. `open` and `append` reject with the system's
 * error (ENOSPC, EMFILE). After `close`, which may come at any time, nothing is written any more. A plain descriptor: a
 * FileHandle that is collected while it closes is closed twice (Bun 1.4.4), when its number may be another file's.
 */
export class Spool implements ReadableFile {
  readonly #descriptor: number
  #bytes = 0
  #isWriting = false
  #isClosed = false

  private constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Readable by this user only. The name is removed at once, so that no cleanup is needed. */
  static async open(directory: string): Promise<Spool> {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const path = join(directory, `upload-${crypto.randomUUID()}`)
    const descriptor = await openFile(path, 'wx+', 0o600)
    unlinkSync(path)
    return new Spool(descriptor)
  }

  /** Written so far: where the next file begins. */
  get bytes(): number {
    return this.#bytes
  }

  /** One at a time: the caller waits for each, which slows the client down. */
  async append(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#isClosed) return
      const { bytesWritten } = await this.#write(bytes, at)
      at += bytesWritten
      this.#bytes += bytesWritten
    }
  }

  async #write(bytes: Uint8Array, at: number): Promise<{ readonly bytesWritten: number }> {
    this.#isWriting = true
    try {
      return await writeFile(this.#descriptor, bytes, at, bytes.length - at, this.#bytes)
    } finally {
      this.#isWriting = false
      if (this.#isClosed) this.#free()
    }
  }

  /** Returns 0 once closed: the closed descriptor's number may already belong to another file. */
  read(into: Uint8Array, at: number): number {
    return this.#isClosed ? 0 : readSync(this.#descriptor, into, 0, into.length, at)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // Otherwise the write under way frees it.
    if (!this.#isWriting) this.#free()
  }

  #free(): void {
    close(this.#descriptor, () => {})
  }
}
