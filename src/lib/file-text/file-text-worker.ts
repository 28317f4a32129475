/** The thread of packed files: reads those of one call after the other, and ends with what reads them. */
import { compileAsUsual } from '../compile-policy.ts'
import type { FileReply, FileRequest } from './file-threads.ts'
import { packedReadings } from './packed-files.ts'
import { ReadingBudget } from './reading-budget.ts'

declare const self: Worker

compileAsUsual()

/** Of all files of a call: each text may be read in several encodings, and with its marks and without. */
const charactersMax = 64 * 1024 * 1024

const send = (reply: FileReply) => postMessage(reply)

async function read({ files }: FileRequest): Promise<void> {
  const budget = new ReadingBudget()
  let characters = 0
  for (const [file, bytes] of files.entries()) {
    for await (const reading of packedReadings(bytes, budget)) {
      if ('text' in reading) characters += reading.text.length
      if (characters > charactersMax) throw new Error('too many texts')
      send({ kind: 'reading', file, reading })
    }
    send({ kind: 'file-end', file })
  }
}

self.onmessage = ({ data }: MessageEvent<FileRequest>) => {
  // What throws here is a file that nothing foresaw: the thread ends, and the file counts as unreadable.
  read(data).catch(() => process.exit(1))
}
