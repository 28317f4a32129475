/**
 * A body with files in it, made in one piece of memory. As a text in JSON a file of 10 MiB would be in memory five
 * times, as strings: so a mark stands for its base64 until the body is written.
 */
/** Whole groups of three bytes, so that the base64 of one slice goes on where the one before ended. */
const sliceBytes = 48 * 1024

/** ASCII, and in no text that anybody else wrote: 122 random bits. */
export function newMark(): string {
  return `modelgate-file-${crypto.randomUUID()}`
}

interface Place {
  readonly from: number
  readonly mark: string
  readonly bytes: Uint8Array
}

/** The pieces as one, with the base64 of the contents in the place of their marks. */
export function withContents(pieces: readonly Uint8Array[], contents: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const marked = Buffer.concat(pieces)
  const places = placesIn(marked, contents)
  const out = Buffer.allocUnsafeSlow(
    places.reduce((sum, { mark, bytes }) => sum - mark.length + base64Length(bytes), marked.length),
  )
  let read = 0
  let end = 0
  for (const { from, mark, bytes } of places) {
    end += marked.copy(out, end, read, from)
    end = writeBase64(out, end, bytes)
    read = from + mark.length
  }
  marked.copy(out, end, read)
  return out
}

function placesIn(marked: Buffer, contents: ReadonlyMap<string, Uint8Array>): Place[] {
  const places: Place[] = []
  for (const [mark, bytes] of contents)
    for (let from = marked.indexOf(mark); from >= 0; from = marked.indexOf(mark, from + mark.length))
      places.push({ from, mark, bytes })
  return places.sort((a, b) => a.from - b.from)
}

const base64Length = ({ length }: Uint8Array): number => Math.ceil(length / 3) * 4

function writeBase64(out: Buffer, at: number, { buffer, byteOffset, length }: Uint8Array): number {
  const bytes = Buffer.from(buffer, byteOffset, length)
  let end = at
  for (let from = 0; from < length; from += sliceBytes)
    end += out.write(bytes.toString('base64', from, from + sliceBytes), end, 'latin1')
  return end
}
