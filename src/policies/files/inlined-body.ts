/**
 * A body with files in it, written into one buffer. As JSON text a file of 10 MiB would be in memory five times, as
 * strings; therefore a placeholder stands for its base64 until the body is written.
 */
/** Whole groups of three bytes, so that the base64 of slices can be joined. */
const sliceBytes = 48 * 1024

/** ASCII with 122 random bits, so that no other text contains it. */
export function newMark(): string {
  return `modelgate-file-${crypto.randomUUID()}`
}

interface Insertion {
  readonly from: number
  readonly placeholder: string
  readonly bytes: Uint8Array
}

/** The pieces as one, with the base64 of the contents in place of their placeholders. */
export function withContents(pieces: readonly Uint8Array[], contents: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const marked = Buffer.concat(pieces)
  const insertions = insertionsIn(marked, contents)
  const out = Buffer.allocUnsafeSlow(
    insertions.reduce((sum, { placeholder, bytes }) => sum - placeholder.length + base64Length(bytes), marked.length),
  )
  let read = 0
  let end = 0
  for (const { from, placeholder, bytes } of insertions) {
    end += marked.copy(out, end, read, from)
    end = writeBase64(out, end, bytes)
    read = from + placeholder.length
  }
  marked.copy(out, end, read)
  return out
}

function insertionsIn(marked: Buffer, contents: ReadonlyMap<string, Uint8Array>): Insertion[] {
  const insertions: Insertion[] = []
  for (const [placeholder, bytes] of contents)
    for (
      let from = marked.indexOf(placeholder);
      from >= 0;
      from = marked.indexOf(placeholder, from + placeholder.length)
    )
      insertions.push({ from, placeholder, bytes })
  return insertions.sort((a, b) => a.from - b.from)
}

const base64Length = ({ length }: Uint8Array): number => Math.ceil(length / 3) * 4

function writeBase64(out: Buffer, at: number, { buffer, byteOffset, length }: Uint8Array): number {
  const bytes = Buffer.from(buffer, byteOffset, length)
  let end = at
  for (let from = 0; from < length; from += sliceBytes)
    end += out.write(bytes.toString('base64', from, from + sliceBytes), end, 'latin1')
  return end
}
