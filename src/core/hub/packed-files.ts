/** Reads the packed files of an input (archives, documents of Office, PDF) before policies search it. */
import type { ChatRequest, Part } from './chat.ts'
import type { CallInput } from './input.ts'
import { keyOf } from './input-files.ts'
import type { InlineFile, InputFile } from './input-files.ts'
import { readInThread } from '../../lib/file-text/file-threads.ts'
import { fileOf, isMedia, isPacked, packedBytesMax } from '../../lib/file-text/index.ts'
import type { FileBytes, Reading } from '../../lib/file-text/reading.ts'

const tooLarge: readonly Reading[] = [{ unreadable: 'a packed file that is too large' }]

/**
 * Lets `changeTexts` give what the packed files of the input say. undefined = it has none. Never rejects: what cannot
 * be read in time is unreadable. `owner` = the id of the key that asks, by which the threads are shared.
 */
export function readFiles(input: CallInput, owner: string): Promise<void> | undefined {
  const files = packedFiles(input)
  if (files.size === 0) return undefined
  const known = new Map<InputFile | string, readonly Reading[]>()
  const read: [key: InputFile | string, bytes: Uint8Array][] = []
  for (const [key, file] of files)
    if (file.length > packedBytesMax) known.set(key, tooLarge)
    else read.push([key, file.read(0, file.length)])
  input.readings = known
  if (read.length === 0) return undefined
  return readInThread(
    read.map(([, bytes]) => bytes),
    owner,
  ).then(all => {
    for (const [at, readings] of all.entries()) known.set(read[at]![0], readings)
  })
}

function packedFiles(input: CallInput): ReadonlyMap<InputFile | string, FileBytes> {
  const files = new Map<InputFile | string, FileBytes>()
  const add = (from: InlineFile | InputFile, file: FileBytes): void => {
    if (isPacked(file)) files.set(keyOf(from), file)
  }
  if (input.kind === 'form') for (const one of input.files) add(one, one.content)
  else if (input.kind === 'chat') for (const one of inlineFiles(input.request)) add(one, fileOf(bytesOf(one)))
  return files
}

const bytesOf = ({ data }: InlineFile): Uint8Array => Buffer.from(data, 'base64')

function* inlineFiles({ messages, series = [] }: ChatRequest): Generator<InlineFile> {
  for (const { parts } of [messages, ...series].flat()) yield* filesOfParts(parts)
}

/** As `changeTexts` goes through them. */
function* filesOfParts(parts: readonly Part[]): Generator<InlineFile> {
  for (const part of parts)
    if (part.type === 'tool-result') yield* filesOfParts(part.parts)
    else if ((part.type === 'document' || part.type === 'image') && 'data' in part.source)
      if (part.type === 'document' || !isMedia(Buffer.from(part.source.data.slice(0, 100), 'base64'))) yield part.source
}
