/** WebSockets (RFC 6455) by the protocol part of the package `ws`, over this server's sockets. No extensions. */
import type { Receiver } from 'ws-protocol'
import { closeCodes } from '../../core/message-socket.ts'
import type { MessageSession, MessageSocket, Upgrade } from '../../core/message-socket.ts'
import type { GatewayError } from '../../core/errors.ts'

type Protocol = typeof import('ws-protocol')
let loaded: Protocol | undefined

/** Loads the protocol, once: a gateway without WebSockets does not hold it. */
export async function loadWebSockets(): Promise<void> {
  loaded ??= await import('ws-protocol')
}

/** The connection below, which sends bytes in order. */
export interface ByteSocket {
  readonly full: boolean
  write(bytes: Uint8Array): void
  /** No more is sent: closes once all is out. */
  end(): void
  /** Stops and continues reading. */
  pause(): void
  resume(): void
}

const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
/** Each costs an object beside its bytes: a message in more pieces is an attack on memory. */
const fragmentsMax = 128 * 1024
const reasonBytesMax = 123
const noBytes = Buffer.alloc(0)

/** One WebSocket. Made once `loadWebSockets` has resolved. */
export class WebSocketChannel implements MessageSocket {
  readonly #below: ByteSocket
  readonly #session: MessageSession
  readonly #receiver: Receiver
  #closeSent = false
  #over = false

  constructor(below: ByteSocket, { messageBytesMax, open }: Pick<Upgrade, 'messageBytesMax' | 'open'>) {
    this.#below = below
    const { Receiver } = loaded!
    const receiver = new Receiver({
      isServer: true,
      maxPayload: Math.min(messageBytesMax, 0x7fff_ffff),
      maxFragments: fragmentsMax,
      maxBufferedChunks: 0,
      skipUTF8Validation: false,
    })
    this.#receiver = receiver
    receiver.on('message', (data: Buffer, isBinary: boolean) => this.#message(data, isBinary))
    receiver.on('ping', (data: Buffer) => this.#control(opcodes.pong, data))
    receiver.on('conclude', (code: number) => this.#concluded(code))
    receiver.on('error', (error: Error) => this.#failed(error))
    receiver.on('drain', () => below.resume())
    this.#session = open(this)
  }

  // ---- what the session calls

  get full(): boolean {
    return this.#below.full
  }

  send(message: string | Uint8Array): void {
    if (this.#closeSent) return
    if (typeof message === 'string') return this.#frame(opcodes.text, Buffer.from(message, 'utf8'))
    this.#frame(opcodes.binary, Buffer.from(message.buffer, message.byteOffset, message.byteLength))
  }

  close(code: number, reason: string): void {
    if (this.#closeSent) return
    const payload = Buffer.alloc(2 + reasonBytesMax)
    payload.writeUInt16BE(code)
    const length = payload.write(reason, 2, 'utf8')
    this.#frame(opcodes.close, payload.subarray(0, 2 + length))
    this.#closeSent = true
    this.#ended()
    // A client that answers the close needs no reading: TCP is closed by this side in any case.
    this.#below.end()
  }

  // ---- what the connection calls

  get busy(): boolean {
    return !this.#over && this.#session.busy
  }

  data(bytes: Buffer): void {
    if (this.#closeSent) return
    if (!this.#receiver.write(bytes)) this.#below.pause()
  }

  drained(): void {
    if (!this.#over) this.#session.drained()
  }

  ping(): void {
    this.#control(opcodes.ping, noBytes)
  }

  goAway(): void {
    if (!this.#over) this.#session.goAway()
  }

  interrupt(error: GatewayError): void {
    if (!this.#over) this.#session.interrupt(error)
  }

  /** The connection is gone. */
  lost(): void {
    this.#closeSent = true
    this.#ended()
  }

  // ---- inside

  #message(data: Buffer, isBinary: boolean): void {
    if (this.#over) return
    if (!isBinary) return this.#session.message(data.toString('utf8'))
    if (this.#session.bytes) this.#session.bytes(data)
    else this.close(closeCodes.unsupported, 'messages are JSON in text frames, not binary')
  }

  #control(opcode: number, data: Buffer): void {
    if (!this.#closeSent) this.#frame(opcode, data)
  }

  /** The client closes: its code comes back (RFC 6455, 5.5.1). */
  #concluded(code: number): void {
    if (this.#closeSent) return
    if (code !== emptyClose) return this.close(code, '')
    this.#frame(opcodes.close, noBytes)
    this.#closeSent = true
    this.#ended()
    this.#below.end()
  }

  #failed(error: Error): void {
    const code = statusCodeOf(error)
    this.close(code, code === closeCodes.tooBig ? 'the message is larger than this gateway takes' : error.message)
  }

  #frame(opcode: number, data: Buffer): void {
    const { Sender } = loaded!
    for (const piece of Sender.frame(data, { fin: true, rsv1: false, opcode, mask: false, readOnly: true }))
      if (piece.length > 0) this.#below.write(piece)
  }

  #ended(): void {
    if (this.#over) return
    this.#over = true
    this.#session.closed()
  }
}

/** What a close frame without a code counts as. */
const emptyClose = 1005
const protocolError = 1002

/** The library says it under a symbol of its own. */
function statusCodeOf(error: Error): number {
  const symbol = Object.getOwnPropertySymbols(error).find(one => one.description === 'status-code')
  const code = symbol && (error as unknown as Record<symbol, unknown>)[symbol]
  return typeof code === 'number' ? code : protocolError
}
