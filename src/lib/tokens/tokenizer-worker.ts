/** The thread of the tokenizer: texts in, counts out. Its tables take 0.1 GB, which end with the thread. */
import type { Encoding, TokenizerReply, TokenizerRequest } from './tokenizer.ts'

declare const self: Worker

type Count = (text: string) => number

/** Words such as `<|endoftext|>` in a client's text are text. */
const plainText = { disallowedSpecial: new Set<string>() }

/** Only the tables that are asked for are ever read. */
const loaders: Readonly<Record<Encoding, () => Promise<Count>>> = {
  async o200k_base() {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    return text => countTokens(text, plainText)
  },
  async cl100k_base() {
    const { countTokens } = await import('gpt-tokenizer/encoding/cl100k_base')
    return text => countTokens(text, plainText)
  },
}
const loaded = new Map<Encoding, Promise<Count>>()

function load(encoding: Encoding): Promise<Count> {
  let counter = loaded.get(encoding)
  if (!counter) loaded.set(encoding, (counter = loaders[encoding]()))
  return counter
}

const send = (reply: TokenizerReply) => postMessage(reply)

self.onmessage = ({ data }: MessageEvent<TokenizerRequest>) => {
  load(data.encoding).then(
    count => {
      send({ kind: 'loaded' })
      send({ kind: 'counted', counts: data.texts.map(count) })
    },
    // A thread that cannot load its tables ends, and the main thread makes do with an estimate.
    () => process.exit(1),
  )
}
