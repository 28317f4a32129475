/** The thread of `ConfigThread`. */
import type { ReadReply, ReadRequest } from './config-thread.ts'
import { readFile } from './parse.ts'

declare const self: Worker

self.onmessage = ({ data: { text, options } }: MessageEvent<ReadRequest>) => {
  let reply: ReadReply
  try {
    reply = { file: readFile(text, options) }
  } catch (error) {
    reply = { failure: (error as Error).message }
  }
  self.postMessage(reply)
}
