/** What happens to the bytes of a protocol on their way. */

/** mulberry32: numbers in [0, 1), the same in every run with the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** In random pieces of up to `meanMax` bytes on average. */
export function split(bytes: Buffer, random: () => number, meanMax: number): Buffer[] {
  const pieces: Buffer[] = []
  const mean = 1 + random() * meanMax
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + Math.floor(random() * mean)
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}

/** Bytes that mean something in HTTP, and those just outside. */
export const interesting = Buffer.from('\r\n\0 :;,\t0f-+xX\x7f\x80\xff', 'latin1')

/** One to three bytes changed, put in, left out, cut off behind, or said again: mostly those that HTTP is made of. */
export function mutate(bytes: Buffer, random: () => number): Buffer {
  let out = Buffer.from(bytes)
  const times = 1 + Math.floor(random() * 3)
  for (let i = 0; i < times; i++) {
    const at = Math.floor(random() * out.length)
    const special = interesting[Math.floor(random() * interesting.length)]!
    const byte = random() < 0.7 ? special : Math.floor(random() * 256)
    const how = random()
    if (how < 0.4) out[at] = byte
    else if (how < 0.6) out = Buffer.concat([out.subarray(0, at), Buffer.of(byte), out.subarray(at)])
    else if (how < 0.8) out = Buffer.concat([out.subarray(0, at), out.subarray(at + 1)])
    else if (how < 0.9) out = out.subarray(0, at + 1)
    else out = Buffer.concat([out, out.subarray(at)])
  }
  return out
}
