/** The entry point of the thread that stores bodies: passes messages on to `BodyWriter`. */
import { compileForServing } from '../../lib/compile-policy.ts'
import type { BodyReply, BodyRequest } from './body-messages.ts'
import { BodyWriter } from './body-writer.ts'

declare const self: Worker

const send = (reply: BodyReply) => postMessage(reply)
let writer: BodyWriter | undefined

self.onmessage = ({ data }: MessageEvent<BodyRequest>) => {
  switch (data.kind) {
    case 'open':
      compileForServing()
      writer = new BodyWriter(data.settings, send)
      return
    case 'keep':
      return writer?.keep(data)
    case 'flush':
      return writer?.flush(data.id)
    case 'maintain':
      return writer?.maintain(data)
  }
}
