/** What can be searched of a file: all of a text, and the readable runs of pictures, sound and archives. */

/** Shorter runs of readable characters are chance in bytes that are no text. */
const runLeast = 16

/** A piece with what is no text blanked by U+0000, over which nothing is found. */
export function searchableFile(piece: string): string {
  if (!isBinary(piece)) return piece
  let out = ''
  let from = 0
  for (const { index, 0: run } of piece.matchAll(readable)) {
    out += '\0'.repeat(index - from) + run
    from = index + run.length
  }
  return out + '\0'.repeat(piece.length - from)
}

const readable = new RegExp(`[\\t\\n\\r\\x20-\\x7e\\u00a0-\\ufffc]{${runLeast},}`, 'g')

/** U+FFFD stands for bytes that are no UTF-8. */
function isBinary(piece: string): boolean {
  const sample = piece.slice(0, 4096)
  return sample.includes('\0') || (sample.match(/\ufffd/g)?.length ?? 0) * 100 > sample.length
}
