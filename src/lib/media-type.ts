/** The media type of a file: by its first bytes, then by whether it is text, then by its name. */
import { isUtf8 } from 'node:buffer'

/** Of bytes of which nothing is known. */
export const unknownType = 'application/octet-stream'

/** How the formats that models see begin, as Latin-1; the second text stands at byte 8. */
const beginnings: readonly (readonly [mediaType: string, start: string, later?: string])[] = [
  ['application/pdf', '%PDF-'],
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF8'],
  ['image/webp', 'RIFF', 'WEBP'],
  ['audio/wav', 'RIFF', 'WAVE'],
  ['audio/ogg', 'OggS'],
  ['audio/flac', 'fLaC'],
  ['audio/mpeg', 'ID3'],
  ['audio/mpeg', '\xff\xfb'],
  ['audio/mpeg', '\xff\xf3'],
  ['audio/mpeg', '\xff\xf2'],
]

/** A media type without parameters. Text whose name says no `text/...` type is `text/plain`. */
export function mediaTypeOf(bytes: Uint8Array, filename: string): string {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const known = typeOfBeginning(file)
  if (known !== undefined) return known
  const named = typeByName(filename)
  if (!isUtf8(file) || file.includes(0)) return named.startsWith('text/') ? unknownType : named
  return named.startsWith('text/') ? named : 'text/plain'
}

/** The media type that the first 16 bytes say; undefined = they say none. */
export function typeOfBeginning(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', 0, 16)
  const known = beginnings.find(
    ([, start, later]) => head.startsWith(start) && (later === undefined || head.startsWith(later, 8)),
  )
  return known?.[0]
}

/** The platform's table, by the extension alone. */
export function typeByName(filename: string): string {
  const ending = /\.([A-Za-z0-9]{1,10})$/.exec(filename)?.[1]
  return ending === undefined ? unknownType : Bun.file(`x.${ending.toLowerCase()}`).type.split(';', 1)[0]!.trim()
}
