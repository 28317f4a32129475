/** Content codings of bodies (RFC 9110, 8.4.1) that are unpacked here, those of requests and those of upstreams. */
import { Duplex } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

/** Unpacked at a time: so much of a bomb is in memory before its limit is checked. */
const chunkSize = 64 * 1024

const gunzip = (): Duplex => createGunzip({ chunkSize })

/** The decoder of `node:zlib` ends without an error where the bytes are cut (Bun 1.4.4); the types do not know this. */
const unzstd = (): Duplex => Duplex.fromWeb(new DecompressionStream('zstd' as CompressionFormat) as unknown as WebPair)

type WebPair = Parameters<typeof Duplex.fromWeb>[0]

/** By name, what unpacks a body that begins with `first`, which is not empty. */
const decoders: Readonly<Record<string, (first: Uint8Array) => Duplex>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: first => (isZlib(first) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize })),
  br: () => createBrotliDecompress({ chunkSize }),
  zstd: unzstd,
}

/** The names that are known, for messages: `gzip, deflate, br, zstd`. */
export const codingNames = Object.keys(decoders)
  .filter(name => !name.startsWith('x-'))
  .join(', ')

/** So many codings of one body are unpacked: each costs a window of memory. */
const codingsMax = 4

/**
 * The codings in the order in which they were applied (RFC 9110, 8.4), without `identity`; empty = the body is as it
 * is. A list that is too long to be unpacked counts as one name, which is not known.
 */
export function codingsOf(header: string | null | undefined): readonly string[] {
  if (!header) return noCodings
  const names = header.split(',').map(name => name.trim().toLowerCase())
  const codings = names.filter(name => name !== '' && name !== 'identity')
  return codings.length > codingsMax ? [codings.join(', ')] : codings
}

const noCodings: readonly string[] = []

/** What unpacks a body of that coding which begins with `first`; undefined = the coding is not known. */
export function decoderOf(coding: string): ((first: Uint8Array) => Duplex) | undefined {
  return Object.hasOwn(decoders, coding) ? decoders[coding] : undefined
}

/** Some servers leave the wrapper of zlib away, though `deflate` means it (RFC 9110, 8.4.1.2). */
function isZlib([first = 0, second]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (second === undefined || (first * 256 + second) % 31 === 0)
}
