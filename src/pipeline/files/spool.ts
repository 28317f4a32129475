/** A file without a name for what is too large for memory: it is gone when it is closed, or when the process dies. */
import { mkdirSync, readSync, unlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReadableFile } from '../../core/transport.ts'

/**
 * Several files may lie in it behind one another, each read by its offset. `open` and `append` reject with the system's
 * error (ENOSPC, EMFILE). After `close`, which may come at any time, nothing is written any more.
 */
export class Spool implements ReadableFile {
  #handle: FileHandle | undefined
  #bytes = 0

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Readable by this user only. The name is taken away at once, so that nothing has to be cleaned up. */
  static async open(directory: string): Promise<Spool> {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const path = join(directory, `upload-${crypto.randomUUID()}`)
    const handle = await open(path, 'wx+', 0o600)
    unlinkSync(path)
    return new Spool(handle)
  }

  /** Written so far: where the next file begins. */
  get bytes(): number {
    return this.#bytes
  }

  /** One at a time: the caller waits for each, and so does the client behind it. */
  async append(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (!this.#handle) return
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, this.#bytes)
      at += bytesWritten
      this.#bytes += bytesWritten
    }
  }

  /** 0 once it is closed: a descriptor that was given back may already be another file. */
  read(into: Uint8Array, at: number): number {
    return this.#handle ? readSync(this.#handle.fd, into, 0, into.length, at) : 0
  }

  close(): void {
    const handle = this.#handle
    this.#handle = undefined
    handle?.close().catch(() => {})
  }
}
