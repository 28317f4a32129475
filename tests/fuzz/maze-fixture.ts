/** A reader with two bugs: one behind five bytes in a row, one that depends on how the bytes are split. */
export function maze(pieces: readonly Buffer[]): string {
  const bytes = Buffer.concat(pieces)
  let depth = 0
  if (bytes[0] === 48) {
    depth = 1
    if (bytes[1] === 58) {
      depth = 2
      if (bytes[2] === 120) {
        depth = 3
        if (bytes[3] === 44) {
          depth = 4
          if (bytes[4] === 45) throw new Error('the exit')
        }
      }
    }
  }
  return String(depth)
}

/** Tells what ends a piece. */
export const lastBytes = (pieces: readonly Buffer[]): string => pieces.map(piece => piece.at(-1) === 33).join()

/** Looks at the byte behind the end. */
export function greedy(pieces: readonly Buffer[]): string {
  const last = pieces.at(-1)!
  return String(new Uint8Array(last.buffer)[last.byteOffset + last.length])
}
