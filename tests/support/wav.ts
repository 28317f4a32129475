/** WAV files of 16-bit PCM: reads any number of channels, writes one. */

export interface Wave {
  readonly sampleRateHz: number
  readonly channels: number
  /** Mixed to one channel. */
  readonly samples: Int16Array
}

export const headerBytes = 44

export const durationS = ({ samples, sampleRateHz }: Pick<Wave, 'samples' | 'sampleRateHz'>): number =>
  samples.length / sampleRateHz

/**
 * Returns undefined if the bytes are not WAV of 16-bit PCM. The length in the header may exceed the file, as in
 * streams.
 */
export function readWave(bytes: Uint8Array): Wave | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const word = (at: number) => file.toString('latin1', at, at + 4)
  if (file.length < 12 || word(0) !== 'RIFF' || word(8) !== 'WAVE') return undefined
  let channels = 0
  let sampleRateHz = 0
  for (let at = 12; at + 8 <= file.length; ) {
    const length = file.readUInt32LE(at + 4)
    if (word(at) === 'fmt ' && at + 24 <= file.length) {
      const isPlain = file.readUInt16LE(at + 8) === 1 && file.readUInt16LE(at + 22) === 16
      if (!isPlain) return undefined
      channels = file.readUInt16LE(at + 10)
      sampleRateHz = file.readUInt32LE(at + 12)
    }
    if (word(at) === 'data') {
      if (channels === 0 || sampleRateHz === 0) return undefined
      return { channels, sampleRateHz, samples: mixed(file.subarray(at + 8, at + 8 + length), channels) }
    }
    at += 8 + length + (length & 1)
  }
  return undefined
}

function mixed(data: Buffer, channels: number): Int16Array {
  const samples = new Int16Array(Math.floor(data.length / 2 / channels))
  for (let at = 0; at < samples.length; at++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += data.readInt16LE((at * channels + channel) * 2)
    samples[at] = Math.round(sum / channels)
  }
  return samples
}

/** Little-endian, as in WAV and OpenAI's `pcm`. */
export function sampleBytes(samples: Int16Array): Buffer {
  const bytes = Buffer.alloc(samples.length * 2)
  for (let at = 0; at < samples.length; at++) bytes.writeInt16LE(samples[at]!, at * 2)
  return bytes
}

export function writeWave({ samples, sampleRateHz }: Pick<Wave, 'samples' | 'sampleRateHz'>): Buffer {
  const data = sampleBytes(samples)
  const header = Buffer.alloc(headerBytes)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(36 + data.length, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(sampleRateHz, 24)
  header.writeUInt32LE(sampleRateHz * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data])
}

/** Zero crossings of the filter on each side; enough for speech recognition. */
const filterReach = 12

/** Resamples with a windowed sinc filter, which removes frequencies above the new limit. */
export function resampled(samples: Int16Array, fromHz: number, toHz: number): Int16Array {
  if (fromHz === toHz) return samples
  const cutoff = Math.min(1, toHz / fromHz)
  const reach = filterReach / cutoff
  const out = new Int16Array(Math.floor((samples.length * toHz) / fromHz))
  for (let index = 0; index < out.length; index++) {
    const centre = (index * fromHz) / toHz
    let sum = 0
    for (let at = Math.max(0, Math.ceil(centre - reach)); at <= Math.min(samples.length - 1, centre + reach); at++) {
      const distance = (at - centre) * cutoff * Math.PI
      const sinc = distance === 0 ? 1 : Math.sin(distance) / distance
      sum += samples[at]! * sinc * (0.5 + 0.5 * Math.cos(distance / filterReach))
    }
    out[index] = Math.max(-32_768, Math.min(32_767, Math.round(sum * cutoff)))
  }
  return out
}

/** Root mean square: 0 = silence, 32768 = maximum. */
export function loudness(samples: Int16Array): number {
  let sum = 0
  for (const sample of samples) sum += sample * sample
  return samples.length === 0 ? 0 : Math.sqrt(sum / samples.length)
}
