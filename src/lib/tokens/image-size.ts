/** Width and height of a picture from the beginning of its file: PNG, GIF, WebP and JPEG. */

/** Pixels. */
interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Undefined = another kind of file, or too little of it. */
export function imageSize(bytes: Uint8Array): ImageSize | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const head = file.toString('latin1', 0, 16)
  let size: ImageSize | undefined
  if (head.startsWith('\x89PNG\r\n\x1a\n'))
    size = file.length < 24 ? undefined : { width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
  else if (head.startsWith('GIF8'))
    size = file.length < 10 ? undefined : { width: file.readUInt16LE(6), height: file.readUInt16LE(8) }
  else if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) size = webpSize(file)
  else if (head.startsWith('\xff\xd8')) size = jpegSize(file)
  return size && size.width > 0 && size.height > 0 ? size : undefined
}

/** Three kinds of first chunk (developers.google.com/speed/webp/docs/riff_container): lossy, lossless, extended. */
function webpSize(file: Buffer): ImageSize | undefined {
  if (file.length < 30) return undefined
  switch (file.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = file.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 }
    default:
      return undefined
  }
}

/** Segments until the one that begins a frame (ITU T.81, table B.1). */
function jpegSize(file: Buffer): ImageSize | undefined {
  let at = 2
  while (at + 9 <= file.length && file[at] === 0xff) {
    const marker = file[at + 1]!
    // 0xc4, 0xc8 and 0xcc stand in the same row but hold tables.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) }
    // A fill byte.
    if (marker === 0xff) at++
    else at += 2 + Math.max(file.readUInt16BE(at + 2), 2)
  }
  return undefined
}
