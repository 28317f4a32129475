/**
 * Opens what NaCl's `crypto_secretbox` has sealed (XSalsa20 and Poly1305): the runtime has neither. For small values
 * that are read once; it does not run in constant time. Source: Bernstein, "Cryptography in NaCl" (2009), and RFC 8439,
 * section 2.5, for Poly1305.
 */

const nonceBytes = 24
const tagBytes = 16
/** Of the stream the first bytes are the key of the tag. */
const tagKeyBytes = 32
const blockBytes = 64

/** "expand 32-byte k" */
const constants = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const
/** Each quarter round of a double round: which four of the sixteen words it takes. */
const quarterRounds = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const
const turns = [7, 9, 13, 18] as const

/** The text of a box (nonce, tag, sealed bytes) under a key of 32 bytes; undefined = it was sealed under another. */
export function openSecretbox(box: Uint8Array, key: Uint8Array): Buffer | undefined {
  if (box.length < nonceBytes + tagBytes) return undefined
  const nonce = box.subarray(0, nonceBytes)
  const tag = box.subarray(nonceBytes, nonceBytes + tagBytes)
  const sealed = box.subarray(nonceBytes + tagBytes)
  const stream = xsalsa20(key, nonce, tagKeyBytes + sealed.length)
  if (!Buffer.from(poly1305(sealed, stream.subarray(0, tagKeyBytes))).equals(tag)) return undefined
  return Buffer.from(sealed.map((byte, at) => byte ^ stream[tagKeyBytes + at]!))
}

/** So many bytes of the stream of a key and a nonce of 24 bytes. */
function xsalsa20(key: Uint8Array, nonce: Uint8Array, length: number): Uint8Array {
  const mixed = doubleRounds(stateOf(key, nonce.subarray(0, 16)))
  const derived = wordsToBytes([0, 5, 10, 15, 6, 7, 8, 9].map(at => mixed[at]!))
  const blocks = Array.from({ length: Math.ceil(length / blockBytes) }, (_, at) => {
    const counter = wordsToBytes([at, 0])
    const state = stateOf(derived, Buffer.concat([nonce.subarray(16), counter]))
    const rounds = doubleRounds(state)
    return wordsToBytes(rounds.map((word, index) => word + state[index]!))
  })
  return Buffer.concat(blocks).subarray(0, length)
}

/** Sixteen words: constants, key, and sixteen bytes of input. */
function stateOf(key: Uint8Array, input: Uint8Array): number[] {
  const [k, n] = [bytesToWords(key), bytesToWords(input)]
  const [first, second, third, fourth] = constants
  return [first, ...k.slice(0, 4), second, ...n, third, ...k.slice(4), fourth]
}

/** Twenty rounds of Salsa20. */
function doubleRounds(state: readonly number[]): number[] {
  const x = Uint32Array.from(state)
  for (let round = 0; round < 10; round++)
    for (const words of quarterRounds)
      turns.forEach((bits, at) => {
        const sum = (x[words[at]!]! + x[words[(at + 3) % 4]!]!) >>> 0
        x[words[(at + 1) % 4]!]! ^= (sum << bits) | (sum >>> (32 - bits))
      })
  return [...x]
}

function bytesToWords(bytes: Uint8Array): number[] {
  const buffer = Buffer.from(bytes)
  return Array.from({ length: buffer.length / 4 }, (_, at) => buffer.readUInt32LE(at * 4))
}

function wordsToBytes(words: readonly number[]): Buffer {
  const buffer = Buffer.alloc(words.length * 4)
  words.forEach((word, at) => buffer.writeUInt32LE(word >>> 0, at * 4))
  return buffer
}

const littleEndian = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`)

function poly1305(message: Uint8Array, key: Uint8Array): Uint8Array {
  const prime = (1n << 130n) - 5n
  const factor = littleEndian(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn
  let sum = 0n
  for (let at = 0; at < message.length; at += 16) {
    const block = message.subarray(at, at + 16)
    sum = ((sum + littleEndian(block) + (1n << BigInt(block.length * 8))) * factor) % prime
  }
  const tag = (sum + littleEndian(key.subarray(16, 32))) & ((1n << 128n) - 1n)
  return Buffer.from(tag.toString(16).padStart(32, '0'), 'hex').reverse()
}
