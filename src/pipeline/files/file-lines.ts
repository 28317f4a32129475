/** Rewrites a large file line by line into a spool, with at most one line and one buffer in memory. */
import { GatewayError } from '../../core/errors.ts'
import type { RewriteLine } from '../../core/objects/files.ts'
import type { BodyPiece } from '../../core/transport.ts'
import type { Upload, UploadPart } from '../../core/upload.ts'
import { noRoomForFile, Spool } from './spool.ts'

/** Enough for a request with a few pictures. */
const lineBytesMax = 8 * 1024 * 1024
const readBytes = 64 * 1024
/** Bytes per write. */
const blockBytes = 256 * 1024
const newline = 10
const lineEnd = Buffer.from('\n', 'latin1')

/** The upload with the lines of `part` rewritten; closing it closes both. Frees everything when `rewrite` throws. */
export async function rewriteLines(
  upload: Upload,
  part: UploadPart,
  rewrite: RewriteLine,
  directory: string,
): Promise<Upload> {
  const spool = await Spool.open(directory)
  try {
    const block = Buffer.allocUnsafe(blockBytes)
    let used = 0
    for (const { line, number } of linesOf(part.content)) {
      if (isBlank(line)) continue
      for (const piece of [...(await rewrite(line, number)), lineEnd])
        for (let at = 0; at < piece.length; ) {
          const taken = piece.subarray(at, at + block.length - used)
          block.set(taken, used)
          used += taken.length
          at += taken.length
          if (used < block.length) continue
          await spool.append(block)
          used = 0
        }
    }
    await spool.append(block.subarray(0, used))
  } catch (cause) {
    spool.close()
    throw noRoomForFile(cause) ?? cause
  }
  const rewritten: UploadPart = {
    ...part,
    content: [{ file: spool, offset: 0, length: spool.bytes }],
    bytes: spool.bytes,
  }
  return {
    parts: upload.parts.map(one => (one === part ? rewritten : one)),
    close() {
      spool.close()
      upload.close()
    },
  }
}

function isBlank(line: Uint8Array): boolean {
  return line.every(byte => byte === 32 || byte === 9 || byte === 13)
}

interface NumberedLine {
  readonly line: Uint8Array
  readonly number: number
}

/** Without their line ends; the last may have none. A line may be a view of a buffer that the next one is read into. */
function* linesOf(content: readonly BodyPiece[]): Generator<NumberedLine> {
  let held: Uint8Array[] = []
  let heldBytes = 0
  let number = 1
  const keep = (bytes: Uint8Array): void => {
    heldBytes += bytes.length
    if (heldBytes > lineBytesMax)
      throw new GatewayError(
        'invalid-request',
        `line ${number} of the file is longer than ${lineBytesMax} bytes; give its request less content`,
        { param: 'file' },
      )
    held.push(bytes)
  }
  const take = (): NumberedLine => {
    const line = held.length === 1 ? held[0]! : Buffer.concat(held)
    held = []
    heldBytes = 0
    return { line, number: number++ }
  }
  for (const chunk of chunksOf(content)) {
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      keep(chunk.subarray(start, end))
      yield take()
      start = end + 1
    }
    if (start < chunk.length) keep(Buffer.from(chunk.subarray(start)))
  }
  if (held.length > 0) yield take()
}

/**
 * Synchronous reads: the file was just written and is cached by the system. Each read overwrites the last one.
 */
function* chunksOf(content: readonly BodyPiece[]): Generator<Buffer> {
  const into = Buffer.allocUnsafe(readBytes)
  for (const piece of content) {
    if (piece instanceof Uint8Array) {
      yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
      continue
    }
    for (let at = 0; at < piece.length; ) {
      const read = piece.file.read(into.subarray(0, Math.min(readBytes, piece.length - at)), piece.offset + at)
      if (read === 0) throw new GatewayError('internal', 'the file of this call can no longer be read')
      at += read
      yield into.subarray(0, read)
    }
  }
}
