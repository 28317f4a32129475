/** The parts of the package `ws` (8.23) that are used; under another name, because Bun replaces `ws` by its own. */
declare module 'ws-protocol' {
  import type { Writable } from 'node:stream'

  interface ReceiverOptions {
    readonly isServer: boolean
    readonly maxPayload: number
    readonly maxFragments: number
    readonly maxBufferedChunks: number
    readonly skipUTF8Validation: boolean
  }

  /** Emits `message`, `ping`, `pong` (bytes), `conclude` (code, reason) and `error`. */
  export class Receiver extends Writable {
    constructor(options: ReceiverOptions)
  }

  export const Sender: {
    frame(
      data: Buffer,
      options: { fin: boolean; rsv1: boolean; opcode: number; mask: boolean; readOnly: boolean },
    ): Buffer[]
  }
}
