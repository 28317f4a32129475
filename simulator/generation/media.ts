/** Small but valid image and audio files, generated from a seed. */
import { crc32, deflateSync } from 'node:zlib'

const sideMax = 4096

function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const head = Buffer.alloc(4)
  head.writeUInt32BE(data.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([head, body, checksum])
}

/** A PNG of one colour chosen by `random`. One bit per pixel, so that large images are a few hundred bytes. */
export function pngOf(random: () => number, width: number, height: number): Buffer {
  const [wide, high] = [width, height].map(side => Math.min(Math.max(Math.floor(side) || 1, 1), sideMax)) as [
    number,
    number,
  ]
  const header = Buffer.alloc(13)
  header.writeUInt32BE(wide, 0)
  header.writeUInt32BE(high, 4)
  header.set([1, 3, 0, 0, 0], 8)
  const palette = Uint8Array.from({ length: 6 }, () => Math.floor(random() * 256))
  // One filter byte before each row; every pixel has the first palette colour.
  const rows = Buffer.alloc(high * (1 + Math.ceil(wide / 8)))
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', header),
    pngChunk('PLTE', palette),
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', new Uint8Array()),
  ])
}

/** Milliseconds of audio for each character of the text. */
const msPerCharacter = 10
const samplesPerSecond = 24_000
const charactersMax = 4096

/** Duration of the audio for a text, in seconds. */
export function soundSeconds(text: string): number {
  return (Math.min(text.length, charactersMax) * msPerCharacter) / 1000
}

/** PCM, 16 bits little-endian, mono, 24,000 samples per second: a tone whose pitch `random` chooses. */
export function pcmOf(text: string, random: () => number): Buffer {
  const hertz = 200 + Math.floor(random() * 400)
  const samples = new Int16Array(Math.round(soundSeconds(text) * samplesPerSecond))
  for (let at = 0; at < samples.length; at++)
    samples[at] = Math.round(Math.sin((at * 2 * Math.PI * hertz) / samplesPerSecond) * 8000)
  return Buffer.from(samples.buffer)
}

function wavOf(samples: Buffer): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(samplesPerSecond, 24)
  head.writeUInt32LE(samplesPerSecond * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

/** Silent MPEG-1 Layer III frames, 128 kbit/s, 44,100 Hz: 417 bytes are 26 ms. */
function mp3Of(text: string): Buffer {
  const frame = Buffer.alloc(417)
  frame.set([0xff, 0xfb, 0x90, 0x00])
  return Buffer.concat(Array.from({ length: Math.max(Math.ceil(soundSeconds(text) / 0.026), 1) }, () => frame))
}

/** Magic numbers at the start of these formats; the rest of the file is not valid audio. */
const magic: Record<string, string> = { opus: 'OggS', flac: 'fLaC', aac: '\xff\xf1\x50\x80' }

/** Media types by `response_format` (OpenAI API reference, "Create speech"). */
export const soundTypes: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  aac: 'audio/aac',
}

/** A file in one of the formats of `soundTypes`. */
export function soundOf(format: string, text: string, random: () => number): Buffer {
  if (format === 'mp3') return mp3Of(text)
  const samples = pcmOf(text, random)
  if (format === 'pcm') return samples
  return format === 'wav' ? wavOf(samples) : Buffer.concat([Buffer.from(magic[format]!, 'latin1'), samples])
}
