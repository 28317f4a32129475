/** Reads the format, and for WAV and FLAC the duration, from the first bytes of an audio file. */

/** Properties of an audio file. */
export interface AudioFile {
  /** `WAV`, `FLAC`, ... */
  readonly format: string
  /** Undefined where the first bytes do not hold it. */
  readonly durationS?: number
  readonly sampleRateHz?: number
  readonly channels?: number
}

/**
 * Undefined = none of the formats that OpenAI's API names (flac, mp3, mp4, m4a, ogg, wav, webm). `head` = the first
 * bytes of the file, `totalBytes` = its whole length.
 */
export function readAudioFile(head: Uint8Array, totalBytes: number): AudioFile | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  const tag = (at: number, length = 4) => bytes.toString('latin1', at, at + length)
  if (tag(0) === 'RIFF' && tag(8) === 'WAVE') return readWav(bytes, totalBytes)
  if (tag(0) === 'fLaC') return readFlac(bytes)
  if (tag(0) === 'OggS') return { format: 'Ogg' }
  if (tag(4) === 'ftyp') return { format: 'MP4' }
  if (tag(0, 3) === 'ID3' || (bytes[0] === 0xff && (bytes[1]! & 0xe6) === 0xe2)) return { format: 'MP3' }
  if (bytes.length >= 4 && bytes.readUInt32BE(0) === 0x1a45dfa3) return { format: 'WebM' }
  return undefined
}

/** Walks the RIFF chunks. A data length beyond the end of the file is reduced to the bytes that are there. */
function readWav(bytes: Buffer, totalBytes: number): AudioFile {
  let rate: { bytesPerSecond: number; sampleRateHz: number; channels: number } | undefined
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.toString('latin1', at, at + 4)
    const length = bytes.readUInt32LE(at + 4)
    if (name === 'fmt ' && at + 24 <= bytes.length)
      rate = {
        channels: bytes.readUInt16LE(at + 10),
        sampleRateHz: bytes.readUInt32LE(at + 12),
        bytesPerSecond: bytes.readUInt32LE(at + 16),
      }
    if (name === 'data' && rate && rate.bytesPerSecond > 0) {
      const { bytesPerSecond, ...properties } = rate
      const dataBytes = Math.min(length, Math.max(totalBytes - at - 8, 0))
      return { format: 'WAV', durationS: round(dataBytes / bytesPerSecond), ...properties }
    }
    at += 8 + length + (length & 1)
  }
  return { format: 'WAV' }
}

/**
 * The first block is STREAMINFO: 20 bits of sample rate, 3 of channels - 1, 5 of depth, 36 of samples
 * (RFC 9639, section 8.2).
 */
function readFlac(bytes: Buffer): AudioFile {
  if (bytes.length < 26 || (bytes[4]! & 0x7f) !== 0) return { format: 'FLAC' }
  const packed = bytes.readBigUInt64BE(18)
  const sampleRateHz = Number(packed >> 44n)
  const channels = Number((packed >> 41n) & 7n) + 1
  const samples = Number(packed & 0xfffffffffn)
  if (sampleRateHz === 0 || samples === 0) return { format: 'FLAC' }
  return { format: 'FLAC', durationS: round(samples / sampleRateHz), sampleRateHz, channels }
}

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000
