/** Connections that stay open and carry messages both ways (WebSockets), without their framing. */
import type { GatewayError } from './errors.ts'

/** Why a connection is closed: codes of RFC 6455, 7.4.1. */
export const closeCodes = {
  done: 1000,
  /** The gateway stops: the client should connect again. */
  goingAway: 1001,
  unsupported: 1003,
  refused: 1008,
  tooBig: 1009,
  internal: 1011,
} as const

/** The client's end, as the session sees it. */
export interface MessageSocket {
  /** Too much is buffered for the client: nothing more should be sent before `drained`. */
  readonly full: boolean
  /** Does nothing once it is closed. */
  send(message: string | Uint8Array): void
  /** Closes it in order, behind what was sent. At most 123 bytes of the reason are sent. */
  close(code: number, reason: string): void
}

/** What answers the messages of one client. Nothing is called after `closed`. */
export interface MessageSession {
  /** Something is being answered: the connection is not closed to free its place, and a stop of the gateway waits. */
  readonly busy: boolean
  message(text: string): void
  /** Absent = messages of bytes end the connection. */
  bytes?(message: Uint8Array): void
  /** The socket can take more. */
  drained(): void
  /** The client has left, or the socket was closed. */
  closed(): void
  /** The gateway stops: what is under way may end, then the socket is to be closed as `goingAway`. */
  goAway(): void
  /** The gateway waits no longer. */
  interrupt(error: GatewayError): void
}

/** The end of an answer with status 101: who talks on. */
export interface Upgrade {
  /** The value of `sec-websocket-accept`. */
  readonly accept: string
  /** One of those that the client offered; absent = none. */
  readonly subprotocol?: string | undefined
  /** A larger message ends the connection. */
  readonly messageBytesMax: number
  open(socket: MessageSocket): MessageSession
}
