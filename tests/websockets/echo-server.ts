/** A server of this program that gives each message of a WebSocket back. */
import type { Answer } from '../../src/core/answer.ts'
import type { MessageSession, MessageSocket } from '../../src/core/message-socket.ts'
import { listen } from '../../src/http/server/server.ts'
import type { HttpServer } from '../../src/http/server/server.ts'
import type { ServerRequest } from '../../src/http/server/server-request.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { TimerWheel } from '../../src/lib/timer-wheel.ts'
import { webSocketAccept } from '../../src/lib/websocket-handshake.ts'

/** `sessions` = those that are open. */
export interface EchoServer {
  readonly url: string
  readonly server: HttpServer
  readonly sessions: Set<MessageSession>
  stop(): void
}

export function startEcho(messageBytesMax = 64 * 1024 * 1024): EchoServer {
  const sessions = new Set<MessageSession>()
  const server = listen({
    hostname: '127.0.0.1',
    port: 0,
    clock: systemClock,
    wheel: new TimerWheel(systemClock),
    handle: async (request: ServerRequest): Promise<Answer> => {
      request.authenticated = true
      const handshake = webSocketAccept(request.headers)
      if ('problem' in handshake) return { status: 400, headers: {}, body: handshake.problem }
      const open = (socket: MessageSocket): MessageSession => {
        const session = echoing(socket, () => sessions.delete(session))
        sessions.add(session)
        return session
      }
      return { status: 101, headers: {}, body: null, upgrade: { accept: handshake.accept, messageBytesMax, open } }
    },
    refuse: ({ status, message }) => ({ status, headers: {}, body: message }),
    report: thrown => console.error(thrown),
  })
  return { url: server.url, server, sessions, stop: () => server.cut() }
}

function echoing(socket: MessageSocket, closed: () => void): MessageSession {
  return {
    busy: false,
    message: text => socket.send(text),
    bytes: message => socket.send(message),
    drained() {},
    closed,
    goAway: () => socket.close(1001, 'going away'),
    interrupt() {},
  }
}
