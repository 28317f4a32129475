/** A temporary file without a name, for data too large for memory: freed when it is closed or the process ends. */
import { mkdirSync, readSync, unlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReadableFile } from '../../core/transport.ts'

/**
 * It may contain several files one after another, each read by its offset. `open` and `append` reject with the system's
 * error (ENOSPC, EMFILE). After `close`, which may come at any time, nothing is written any more.
 */
export class Spool implements ReadableFile {
  #handle: FileHandle | undefined
  #bytes = 0

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Readable by this user only. The name is removed at once, so that no cleanup is needed. */
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

  /** One at a time: the caller waits for each, which slows the client down. */
  async append(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (!this.#handle) return
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, this.#bytes)
      at += bytesWritten
      this.#bytes += bytesWritten
    }
  }

  /** Returns 0 once closed: the closed descriptor's number may already belong to another file. */
  read(into: Uint8Array, at: number): number {
    return this.#handle ? readSync(this.#handle.fd, into, 0, into.length, at) : 0
  }

  close(): void {
    const handle = this.#handle
    this.#handle = undefined
    handle?.close().catch(() => {})
  }
}
